"""The calls about definitions, as the contract has them."""

from json import dumps
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from processes.workflows.visits.fold import fold_visits
from tests.processes.workflows.api.calls import ORDER, failed
from tests.processes.workflows.process_files import chain, user
from tests.processes.workflows.scene import Scene
from tests.sensors.api.callers import Caller

FOREIGN = Path("tests/processes/workflows/engine/dialects/files/foreign.bpmn")
pytestmark = [pytest.mark.embedded, pytest.mark.django_db]


class TestDefinitions:
    def test_publishes_json(self, caller: Caller) -> None:
        answer = caller("POST", "/workflows/definitions/", {"source": ORDER.decode()})
        body = answer.json()
        assert (answer.status_code, body["key"], body["revision"], body["kind"]) == (201, "order", 1, "bpmn")
        assert body["definitions"] == [{"key": "order", "revision": 1, "kind": "bpmn"}]

    def test_says_what_becomes_of_everything_in_the_file(self, caller: Caller) -> None:
        source = FOREIGN.read_text()
        body = caller("POST", "/workflows/definitions/", {"source": source}).json()
        report = body["report"]
        assert {"element", "line", "name", "what"} == report["runs"][0].keys()
        assert {"element": "ask", "line": 7, "name": "Ask", "what": "user_task"} in report["runs"]
        [condition] = [each for each in report["translated"] if each["what"] == "conditionExpression"]
        assert (condition["before"], condition["after"]) == ("${empty answer}", condition["after"])
        assert 'answer == ""' in condition["after"]
        assert [(each["element"], each["what"], each["line"]) for each in report["drawn"]] == [
            ("ask", "camunda:taskListener", 8)
        ]
        assert caller("GET", "/workflows/definitions/foreign/revisions/1/").json()["report"] == report

    def test_a_problem_names_its_element_as_people_know_it(self, caller: Caller) -> None:
        broken = b'<sequenceFlow id="s" name="Which&#10;way?" sourceRef="check" targetRef="nowhere"/></process>'
        source = chain("order", user("check")).replace(b"</process>", broken)
        [problem] = caller("POST", "/workflows/definitions/", {"source": source.decode()}).json()["data"]["problems"]
        assert (problem["element"], problem["name"]) == ("s", "Which way?")

    def test_strict_refuses_what_would_have_no_effect(self, caller: Caller) -> None:
        answer = caller("POST", "/workflows/definitions/?strict=true", {"source": FOREIGN.read_text()})
        assert failed(answer) == (400, "not_executable")
        [problem] = answer.json()["data"]["problems"]
        assert (problem["element"], problem["line"]) == ("ask", 8)
        assert caller("GET", "/workflows/definitions/").json()["results"] == []
        assert caller("POST", "/workflows/definitions/?strict=true", {"source": ORDER.decode()}).status_code == 201

    def test_a_drawing_is_kept_and_cannot_be_started(self, caller: Caller) -> None:
        broken = ORDER.decode().replace('targetRef="ship"', 'targetRef="nowhere"')
        body = caller("POST", "/workflows/definitions/?drawing=true", {"source": broken}).json()
        assert (body["key"], body["revision"], body["executable"]) == ("order", 1, False)
        assert "nowhere" in body["problems"][0]["message"]
        answer = caller("POST", "/workflows/instances/", {"definition": "order"})
        assert failed(answer) == (409, "not_possible")
        read = caller("GET", "/workflows/definitions/order/revisions/1/").json()
        assert (read["executable"], read["problems"]) == (False, body["problems"])

    def test_a_drawing_does_not_take_the_place_of_what_runs(self, caller: Caller) -> None:
        caller("POST", "/workflows/definitions/", {"source": ORDER.decode()})
        broken = ORDER.decode().replace('targetRef="ship"', 'targetRef="nowhere"')
        assert caller("POST", "/workflows/definitions/?drawing=true", {"source": broken}).json()["revision"] == 2
        started = caller("POST", "/workflows/instances/", {"definition": "order"})
        assert (started.status_code, started.json()["revision"]) == (201, 1)
        after = chain("order", user("check")).decode()
        assert caller("POST", "/workflows/definitions/", {"source": after}).json()["revision"] == 3

    def test_the_same_source_again_is_the_same_revision(self, caller: Caller) -> None:
        caller("POST", "/workflows/definitions/", {"source": ORDER.decode()})
        caller("POST", "/workflows/definitions/", {"source": chain("order", user("check")).decode()})
        answer = caller("POST", "/workflows/definitions/", {"source": ORDER.decode()})
        assert (answer.status_code, answer.json()["revision"]) == (200, 1)

    def test_publishes_a_file(self, caller: Caller) -> None:
        file = SimpleUploadedFile("order.bpmn", ORDER, content_type="text/xml")
        answer = caller.send_form("/workflows/definitions/", file=file)
        assert (answer.status_code, answer.json()["key"]) == (201, "order")

    def test_forms_that_its_tasks_link_to_come_with_it(self, caller: Caller) -> None:
        form = {"id": "order_form", "components": [{"type": "number", "key": "amount"}]}
        task = '<zeebe:formDefinition xmlns:zeebe="http://camunda.org/schema/zeebe/1.0" formId="order_form"/>'
        linked = f"<extensionElements>{task}</extensionElements></userTask>"
        source = chain("order", ("check", f'<userTask id="check">{linked}'))
        missing = caller("POST", "/workflows/definitions/", {"source": source.decode()}).json()["report"]["drawn"]
        assert [each["what"] for each in missing] == ["form order_form"]
        sent = caller("POST", "/workflows/definitions/", {"source": source.decode(), "forms": [form]}).json()
        assert (sent["revision"], sent["report"]["drawn"]) == (2, [])
        files = {
            "file": SimpleUploadedFile("a.bpmn", source),
            "forms": SimpleUploadedFile("a.form", dumps(form).encode()),
        }
        again = caller.send_form("/workflows/definitions/", **files)
        assert (again.status_code, again.json()["report"]["drawn"]) == (201, [])
        stored = caller("GET", "/workflows/definitions/order/revisions/2/").json()
        assert "order_form" in stored["source"]

    def test_a_form_that_nothing_links_to_is_refused(self, caller: Caller) -> None:
        form = {"id": "other", "components": []}
        answer = caller("POST", "/workflows/definitions/", {"source": ORDER.decode(), "forms": [form]})
        assert failed(answer) == (400, "not_executable")

    def test_what_cannot_run_is_named_by_element_and_line(self, caller: Caller) -> None:
        source = ORDER.decode().replace('targetRef="ship"', 'targetRef="nowhere"')
        answer = caller("POST", "/workflows/definitions/", {"source": source})
        assert failed(answer) == (400, "not_executable")
        problem = answer.json()["data"]["problems"][0]
        assert set(problem) == {"element", "line", "message", "name"}
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


class TestFigures:
    def test_says_how_often_and_how_long(self, caller: Caller, scene: Scene) -> None:
        scene.begin(ORDER)
        fold_visits()
        body = caller("GET", "/workflows/definitions/order/revisions/1/figures/").json()
        assert (body["key"], body["revision"], body["period"]) == ("order", 1, "7d")
        assert body["since"] is not None
        found = {each["element"]: each for each in body["elements"]}
        assert found["begin"] == {
            "element": "begin",
            "name": "",
            "entered": 1,
            "stays": 1,
            "mean_seconds": 0.0,
            "median_seconds": 0.0,
            "standing": 0,
        }
        assert (found["check"]["median_seconds"], found["check"]["standing"]) == (None, 1)

    def test_of_what_never_ran_nothing_is_known(self, caller: Caller, scene: Scene) -> None:
        scene.publish(ORDER)
        body = caller("GET", "/workflows/definitions/order/revisions/1/figures/?period=all").json()
        assert (body["since"], body["elements"]) == (None, [])

    @pytest.mark.parametrize(
        ("path", "status"), [("order/revisions/1/figures/?period=1y", 400), ("order/revisions/2/figures/", 404)]
    )
    def test_refuses_what_there_is_not(self, caller: Caller, scene: Scene, path: str, status: int) -> None:
        scene.publish(ORDER)
        assert caller("GET", f"/workflows/definitions/{path}").status_code == status
