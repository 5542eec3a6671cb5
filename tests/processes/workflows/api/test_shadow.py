"""The calls about a revision on trial."""

from typing import Any

import pytest

from tests.processes.workflows.api.calls import ORDER, failed
from tests.processes.workflows.process_files import chain, user
from tests.processes.workflows.services.shadow.trial import follow
from tests.sensors.api.callers import Caller, service

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]

PATH = "/workflows/definitions/order/shadow/"
NEXT = chain("order", user("check"), user("pack"), user("ship"))


def publish(caller: Caller, source: bytes = NEXT, query: str = "?shadow=true") -> Any:
    return caller("POST", f"/workflows/definitions/{query}", {"source": source.decode()})


@pytest.fixture(autouse=True)
def _order(caller: Caller) -> None:
    assert publish(caller, ORDER, "").status_code == 201


class TestShadow:
    def test_is_published_read_and_promoted(self, caller: Caller) -> None:
        answer = publish(caller)
        assert answer.status_code == 201
        assert (answer.json()["revision"], answer.json()["shadow"], answer.json()["executable"]) == (2, True, False)
        started = caller("POST", "/workflows/instances/", {"definition": "order"}).json()
        task = caller("GET", f"/workflows/instances/{started['id']}/").json()["tasks"][0]["id"]
        body = {"command": "complete_task", "task": task}
        assert caller("POST", f"/workflows/instances/{started['id']}/commands/", body).status_code == 200
        assert caller("GET", PATH).json()["waiting"] == 2
        follow()

        standing = caller("GET", PATH).json()
        assert (standing["revision"], standing["current"], standing["overtaken"], standing["recording"]) == (
            *(2, 1, False, True),
        )
        assert (standing["steps"], standing["different"], standing["following"], standing["waiting"]) == (2, 1, 1, 0)
        (difference,) = standing["differences"]
        assert (difference["kind"], difference["place"], difference["instances"]) == ("path", "ship", 1)
        example = difference["example"]
        assert (example["instance"], example["version"], example["first"]) == (started["id"], 2, True)
        assert '"pack"' in example["withheld"]

        ended = caller("POST", f"{PATH}promote/", {"revision": 2})
        assert (ended.status_code, ended.json()) == (200, {"key": "order", "revision": 2, "kind": "bpmn"})
        assert caller("GET", "/workflows/definitions/").json()["results"][0]["revision"] == 2
        assert failed(caller("GET", PATH)) == (404, "shadow_not_found")

    def test_is_discarded(self, caller: Caller) -> None:
        publish(caller)
        assert failed(caller("POST", f"{PATH}discard/", {"revision": 9})) == (409, "shadow_exists")
        assert caller("POST", f"{PATH}discard/", {}).json()["revision"] == 2
        assert failed(caller("POST", f"{PATH}promote/", {})) == (404, "shadow_not_found")

    def test_refusals_have_their_codes(self, caller: Caller) -> None:
        assert failed(publish(caller, ORDER)) == (409, "published_before")
        assert failed(publish(caller, chain("other", user("a")))) == (409, "nothing_beside")
        publish(caller)
        assert failed(publish(caller, chain("order", user("a")))) == (409, "shadow_exists")
        publish(caller, chain("order", user("b")), "")
        assert failed(caller("POST", f"{PATH}promote/", {})) == (409, "revision_conflict")
        assert caller("GET", PATH).json()["overtaken"] is True

    def test_whoever_may_only_read_ends_none(self, caller: Caller) -> None:
        publish(caller)
        reader = service("workflows:read")
        assert reader("GET", PATH).status_code == 200
        for action in ("promote", "discard"):
            assert reader("POST", f"{PATH}{action}/", {}).status_code == 403

    @pytest.mark.parametrize("body", [{"revision": "x"}, {"revision": 0}, {"other": 1}])
    def test_what_is_no_revision_is_refused(self, caller: Caller, body: Any) -> None:
        publish(caller)
        assert caller("POST", f"{PATH}promote/", body).status_code == 400

    def test_an_unknown_definition_is_not_found(self, caller: Caller) -> None:
        assert failed(caller("GET", PATH.replace("order", "none"))) == (404, "definition_not_found")
