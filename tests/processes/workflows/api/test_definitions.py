"""The calls about definitions, as the contract has them."""

from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from tests.processes.workflows.api.calls import ORDER, failed
from tests.processes.workflows.process_files import chain, user
from tests.sensors.api.callers import Caller

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]


class TestDefinitions:
    def test_publishes_json(self, caller: Caller) -> None:
        answer = caller("POST", "/workflows/definitions/", {"source": ORDER.decode()})
        assert (answer.status_code, answer.json()) == (201, {"key": "order", "revision": 1, "kind": "bpmn"})

    def test_the_same_source_again_is_the_same_revision(self, caller: Caller) -> None:
        caller("POST", "/workflows/definitions/", {"source": ORDER.decode()})
        caller("POST", "/workflows/definitions/", {"source": chain("order", user("check")).decode()})
        answer = caller("POST", "/workflows/definitions/", {"source": ORDER.decode()})
        assert (answer.status_code, answer.json()["revision"]) == (200, 1)

    def test_publishes_a_file(self, caller: Caller) -> None:
        file = SimpleUploadedFile("order.bpmn", ORDER, content_type="text/xml")
        answer = caller.send_form("/workflows/definitions/", file=file)
        assert (answer.status_code, answer.json()["key"]) == (201, "order")

    def test_what_cannot_run_is_named_by_element_and_line(self, caller: Caller) -> None:
        source = ORDER.decode().replace('targetRef="ship"', 'targetRef="nowhere"')
        answer = caller("POST", "/workflows/definitions/", {"source": source})
        assert failed(answer) == (400, "not_executable")
        problem = answer.json()["data"]["problems"][0]
        assert set(problem) == {"element", "line", "message"}
        assert caller("GET", "/workflows/definitions/").json()["results"] == []

    @pytest.mark.parametrize("body", [{}, {"source": 5}, {"source": "x", "more": 1}, [], "text"])
    def test_a_wrong_body_is_refused(self, caller: Caller, body: Any) -> None:
        assert caller("POST", "/workflows/definitions/", body).status_code == 400

    def test_lists_definitions_and_revisions(self, caller: Caller) -> None:
        caller("POST", "/workflows/definitions/", {"source": ORDER.decode()})
        caller("POST", "/workflows/definitions/", {"source": chain("order", user("check")).decode()})
        [definition] = caller("GET", "/workflows/definitions/").json()["results"]
        assert (definition["key"], definition["revision"]) == ("order", 2)
        revisions = caller("GET", "/workflows/definitions/order/revisions/").json()["results"]
        assert [each["revision"] for each in revisions] == [2, 1]
        assert caller("GET", "/workflows/definitions/order/revisions/1/").json()["source"] == ORDER.decode()

    @pytest.mark.parametrize("path", ["other/revisions/", "order/revisions/2/", "order/revisions/99999999999/"])
    def test_what_is_not_there_is_404(self, caller: Caller, path: str) -> None:
        caller("POST", "/workflows/definitions/", {"source": ORDER.decode()})
        assert caller("GET", f"/workflows/definitions/{path}").status_code == 404

    def test_a_file_without_a_diagram_has_no_picture(self, caller: Caller) -> None:
        caller("POST", "/workflows/definitions/", {"source": ORDER.decode()})
        answer = caller("GET", "/workflows/definitions/order/revisions/1/diagram.svg")
        assert failed(answer) == (404, "no_diagram")

    def test_a_picture_may_run_nothing(self, caller: Caller) -> None:
        with open("tests/processes/workflows/engine/bpmn/files/camunda_modeler_7.bpmn", encoding="utf-8") as file:
            key = caller("POST", "/workflows/definitions/", {"source": file.read()}).json()["key"]
        answer = caller("GET", f"/workflows/definitions/{key}/revisions/1/diagram.svg")
        assert answer["Content-Type"] == "image/svg+xml"
        assert answer["Content-Security-Policy"] == "sandbox; default-src 'none'"
        assert b"<svg" in answer.content
