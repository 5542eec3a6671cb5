"""One past each length that an ERP or a device may send: 400 that names the field, and nothing has changed."""

from typing import Any

import pytest

from messaging.protocol import ERROR_LENGTH
from tests.processes.exchange.scene import Scene
from tests.processes.exchange.states import bring_to

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]

LONG = "x" * ERROR_LENGTH
RESULT = {"message": "m1", "status": "PROCESSED_INCORRECT"}


@pytest.mark.parametrize(
    ("status", "step", "field", "body"),
    [
        ("STARTED", "prepare", "results[0].error_text", lambda text: {"results": [{**RESULT, "error_text": text}]}),
        ("STARTED", "interrupt", "text", lambda text: {"text": text}),
        ("STARTED", "abandon", "text", lambda text: {"text": text}),
        ("READY_TO_COMMIT", "rollback", "error_text", lambda text: {"error_text": text}),
    ],
)
def test_the_longest_text_is_taken_and_one_character_more_is_not(
    scene: Scene, status: str, step: str, field: str, body: Any
) -> None:
    process = bring_to(scene, status)
    path = f"/exchange/processes/{process}/{step}/"
    code, answer = scene.call("POST", path, {"version": 1, **body(LONG + "x")})
    assert (code, answer["code"], list(answer["data"]["fields"])) == (400, "invalid", [field])
    assert scene.process(process)["status"] == status
    assert scene.step(process, step, **body(LONG)) == "OK"
