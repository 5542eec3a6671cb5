"""The calls about scenarios."""

from typing import Any

import pytest

from tests.processes.workflows.api.calls import ORDER, failed
from tests.processes.workflows.process_files import chain, user
from tests.sensors.api.callers import Caller, service

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]

PATH = "/workflows/definitions/order/scenarios/"
CHECKED: dict[str, Any] = {"name": "checked", "steps": [{"complete": "check"}, {"expect": {"tasks": ["ship"]}}]}


@pytest.fixture(autouse=True)
def _order(caller: Caller) -> None:
    assert caller("POST", "/workflows/definitions/", {"source": ORDER.decode()}).status_code == 201


class TestScenarios:
    def test_are_saved_read_and_played(self, caller: Caller) -> None:
        assert caller("GET", PATH).json() == {"scenarios": [], "saved_at": None, "actor": ""}
        assert caller("PUT", PATH, {"scenarios": [CHECKED]}).json()["scenarios"] == [CHECKED]
        assert caller("GET", PATH).json()["scenarios"] == [CHECKED]
        played = caller("POST", f"{PATH}run/", {}).json()
        assert (played["revision"], played["passed"]) == (1, True)
        assert played["results"][0]["path"][-1] == "ship"

    def test_hold_up_a_file_that_does_otherwise(self, caller: Caller) -> None:
        caller("PUT", PATH, {"scenarios": [CHECKED]})
        answer = caller("POST", "/workflows/definitions/", {"source": chain("order", user("ship")).decode()})
        assert failed(answer) == (409, "scenarios_failed")
        assert answer.json()["data"]["failures"][0]["scenario"] == "checked"

    @pytest.mark.parametrize(
        "body", [{}, [], {"scenarios": "none"}, {"scenarios": [{"name": "a"}]}, {"scenarios": [], "x": 1}]
    )
    def test_what_is_none_is_refused(self, caller: Caller, body: Any) -> None:
        assert caller("PUT", PATH, body).status_code == 400

    def test_an_unknown_definition_or_revision_is_not_found(self, caller: Caller) -> None:
        assert failed(caller("GET", PATH.replace("order", "none"))) == (404, "definition_not_found")
        assert failed(caller("POST", f"{PATH}run/", {"revision": 9})) == (404, "revision_not_found")

    def test_whoever_may_only_read_saves_none(self) -> None:
        reader = service("workflows:read")
        assert reader("PUT", PATH, {"scenarios": []}).status_code == 403
        assert reader("POST", f"{PATH}run/", {}).status_code == 200
