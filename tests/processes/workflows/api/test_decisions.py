"""The call that evaluates a decision, and decisions among definitions."""

from typing import Any

import pytest

from processes.workflows.errors import KindDiffers
from processes.workflows.models import WorkflowRevision
from tests.processes.workflows.api.calls import ORDER, failed
from tests.processes.workflows.decision_files import DISCOUNT, decision, dmn, literal, table
from tests.processes.workflows.scene import Scene
from tests.sensors.api.callers import Caller, service

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]
DEFINITIONS = "/workflows/definitions/"
EVALUATE = "/workflows/decisions/discount/evaluate/"
TWO = dmn(decision("a", literal("1")), decision("b", literal("a + 1"), needs=["a"]))


@pytest.fixture
def published(caller: Caller) -> Any:
    return caller("POST", DEFINITIONS, {"source": DISCOUNT.decode()})


class TestPublish:
    def test_a_decision_is_a_definition_of_its_own_kind(self, published: Any, caller: Caller) -> None:
        made, answer = {"key": "discount", "revision": 1, "kind": "dmn"}, published.json()
        assert (published.status_code, answer["definitions"], answer["warnings"]) == (201, [made], [])
        again = caller("POST", DEFINITIONS, {"source": DISCOUNT.decode()})
        assert (again.status_code, again.json()["revision"]) == (200, 1)

    def test_what_may_be_wrong_is_a_warning(self, caller: Caller) -> None:
        source = dmn(decision("d", table(["x"], ["r"], [["> 1", "1"], ["> 2", "2"], ["<= 1", "3"]])))
        [warning] = caller("POST", DEFINITIONS, {"source": source.decode()}).json()["warnings"]
        assert (warning["element"], warning["line"], warning["name"]) == ("rule2", 4, "d")
        assert "rules 1 and 2 both match x = 3" in warning["message"]

    def test_every_decision_of_a_file_is_published(self, caller: Caller) -> None:
        answer = caller("POST", DEFINITIONS, {"source": TWO.decode()}).json()
        assert [each["key"] for each in answer["definitions"]] == ["b", "a"]
        assert WorkflowRevision.objects.count() == 2

    def test_a_malformed_table_is_refused_by_element_and_line(self, caller: Caller) -> None:
        source = DISCOUNT.decode().replace("&gt;= 100", "&gt;= (")
        answer = caller("POST", DEFINITIONS, {"source": source})
        assert failed(answer) == (400, "not_executable")
        assert answer.json()["data"]["problems"][0]["element"] == "discount"

    def test_a_decision_and_a_process_cannot_share_a_key(self, scene: Scene) -> None:
        scene.publish(ORDER)
        with pytest.raises(KindDiffers):
            scene.publish(dmn(decision("order", literal("1"))))

    def test_a_file_that_would_be_stored_too_often_is_refused(self, caller: Caller) -> None:
        parts = [decision(f"d{at}", literal("1")) for at in range(100)]
        source = dmn(*parts, f"<!--{'x' * 200_000}-->")
        answer = caller("POST", DEFINITIONS, {"source": source.decode()})
        assert failed(answer) == (400, "not_executable")

    def test_a_decision_has_no_instances(self, published: Any, caller: Caller) -> None:
        answer = caller("POST", "/workflows/instances/", {"definition": "discount"})
        assert failed(answer) == (409, "not_possible")

    def test_a_decision_has_no_drawing(self, published: Any, caller: Caller) -> None:
        answer = caller("GET", "/workflows/definitions/discount/revisions/1/diagram.svg")
        assert failed(answer) == (404, "no_diagram")


class TestEvaluate:
    def test_answers_the_result_and_the_rules_that_matched(self, published: Any, caller: Caller) -> None:
        answer = caller("POST", EVALUATE, {"variables": {"status": "silver", "total": 150}})
        assert answer.status_code == 200
        assert answer.json() == {
            "key": "discount",
            "revision": 1,
            "result": 0.1,
            "decisions": [
                {
                    "key": "discount",
                    "name": "Discount",
                    "result": 0.1,
                    "inputs": [{"label": "status", "value": "silver"}, {"label": "total", "value": 150}],
                    "rules": [{"number": 2, "id": "rule2", "outputs": {"discount": 0.1}}],
                }
            ],
        }

    def test_the_newest_revision_unless_another_is_named(self, published: Any, caller: Caller) -> None:
        caller("POST", DEFINITIONS, {"source": DISCOUNT.decode().replace("0.15", "0.2")})
        gold = {"status": "gold", "total": 1}
        assert caller("POST", EVALUATE, {"variables": gold}).json()["result"] == 0.2
        assert caller("POST", EVALUATE, {"variables": gold, "revision": 1}).json()["result"] == 0.15

    def test_needs_the_right_to_read_alone(self, published: Any) -> None:
        assert service("workflows:read")("POST", EVALUATE, {"variables": {}}).status_code == 200
        assert service("workflows:write")("POST", EVALUATE, {"variables": {}}).status_code == 403

    def test_a_table_that_contradicts_itself_says_which_rules(self, caller: Caller) -> None:
        both = dmn(decision("discount", table(["x"], ["r"], [["> 1", "1"], ["> 2", "2"]])))
        caller("POST", DEFINITIONS, {"source": both.decode()})
        answer = caller("POST", EVALUATE, {"variables": {"x": 3}})
        assert failed(answer) == (409, "decision_failed")
        assert "rules 1, 2" in answer.json()["data"]["reason"]

    @pytest.mark.parametrize(
        ("key", "body", "expected"),
        [
            ("nothing", {}, (404, "definition_not_found")),
            ("discount", {"revision": 9}, (404, "revision_not_found")),
            ("order", {}, (409, "no_decision")),
            ("discount", {"variables": {"x": "y" * 1_000_001}}, (400, "invalid")),
            ("discount", {"variables": 5}, (400, "invalid")),
            ("discount", {"more": 5}, (400, "invalid")),
        ],
    )
    def test_what_cannot_be_evaluated(
        self, published: Any, caller: Caller, key: str, body: dict[str, Any], expected: tuple[int, str]
    ) -> None:
        caller("POST", DEFINITIONS, {"source": ORDER.decode()})
        assert failed(caller("POST", f"/workflows/decisions/{key}/evaluate/", body)) == expected
