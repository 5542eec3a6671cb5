from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from django.utils.translation import override

from processes.workflows.services.definitions.publish import publish_definition
from tests.processes.workflows.decision_files import DISCOUNT, decision, dmn, literal, table
from tests.processes.workflows.scene import Scene

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]
PAGE = "/admin/workflows/workflowdefinition/discount/change/"
QUERIES = 16


def show(browser: Client, query: str = "") -> str:
    answer = browser.get(f"{PAGE}{query}")
    assert answer.status_code == 200
    return answer.content.decode()


class TestDecisionPage:
    def test_shows_the_table_and_a_form_to_try_it(self, scene: Scene, operator: Client) -> None:
        scene.publish(DISCOUNT)
        page = show(operator)
        assert "&gt;= 100" in page
        assert 'name="value.status"' in page
        assert 'class="pst-matched"' not in page

    def test_a_try_marks_the_rules_that_match(self, scene: Scene, operator: Client) -> None:
        scene.publish(DISCOUNT)
        answer = operator.get(f"{PAGE}?value.status=silver&value.total=150&try=1")
        decision_page = answer.context["page"].decision
        assert [rule.number for rule in decision_page.decisions[0].rules if rule.is_matched] == [2]
        assert decision_page.decisions[0].result == "0.1"

    def test_tries_the_revision_that_is_shown(self, scene: Scene, operator: Client) -> None:
        scene.publish(DISCOUNT)
        scene.publish(DISCOUNT.replace(b"0.15", b"0.2"))
        assert "<code>0.15</code>" in show(operator, "?revision=1&value.status=gold&try=1")
        assert "<code>0.2</code>" in show(operator, "?value.status=gold&try=1")

    def test_a_failure_is_said_in_the_readers_language(self, scene: Scene, operator: Client) -> None:
        scene.publish(dmn(decision("discount", table(["x"], ["r"], [["> 1", "1"], ["> 2", "2"]]))))
        assert "has no result: The rules 1, 2 match at once" in show(operator, "?value.x=3&try=1")
        with override("ru"):
            operator.cookies["django_language"] = "ru"
            assert "подходят одновременно" in show(operator, "?value.x=3&try=1")

    def test_findings_are_listed_in_the_readers_language(self, scene: Scene, operator: Client) -> None:
        scene.publish(dmn(decision("discount", table(["x"], ["r"], [["> 1", "1"], ["> 2", "2"]]))))
        page = show(operator)
        assert "The rules 1 and 2 both match x = 3" in page
        assert "No rule matches x = 0" in page
        operator.cookies["django_language"] = "ru"
        assert "Правила 1 и 2 оба подходят" in show(operator)

    def test_required_decisions_are_shown_below(self, scene: Scene, operator: Client) -> None:
        scene.publish(
            dmn(decision("base", literal("x + 1")), decision("discount", literal("base * 2"), needs=["base"]))
        )
        answer = operator.get(f"{PAGE}?value.x=2&try=1")
        shown = answer.context["page"].decision
        assert [(each.decision.id, each.result) for each in shown.decisions] == [("discount", "6"), ("base", "3")]
        assert [field.name for field in shown.fields] == ["x"]

    def test_two_revisions_are_compared_by_their_rules(self, scene: Scene, operator: Client) -> None:
        scene.publish(DISCOUNT)
        scene.publish(DISCOUNT.replace(b"0.15", b"0.2"))
        page = operator.get("/admin/workflows/workflowdefinition/discount/revisions/2/compare/1/").content.decode()
        assert "rule1" in page
        assert "rule2" not in page

    def test_a_file_that_cannot_be_evaluated_is_kept_with_its_problems(self, operator: Client) -> None:
        broken = DISCOUNT.replace(b"0.15", b"(")
        publish_definition(source=broken, enterprise=None, actor="tester", at=timezone.now(), drawing=True)
        assert "The expression “(” cannot be read" in show(operator)

    @pytest.mark.parametrize("query", ["?try=1", "?value.status=" + "x" * 5000 + "&try=1", "?value.total=[[1&try=1"])
    def test_whatever_is_typed_the_page_stands(self, scene: Scene, operator: Client, query: str) -> None:
        scene.publish(DISCOUNT)
        assert "/discount/table" in show(operator, query)

    def test_a_decision_is_not_started_and_its_table_is_edited(
        self, scene: Scene, operator: Client, viewer: Client
    ) -> None:
        scene.publish(DISCOUNT)
        page = show(operator)
        assert "/discount/table" in page
        assert "/discount/start" not in page
        assert "/discount/table" not in show(viewer)
        scene.publish(dmn(decision("discount", literal("1"))))
        assert "/discount/table" not in show(operator)

    def test_costs_few_queries(self, scene: Scene, operator: Client, django_assert_max_num_queries: Any) -> None:
        scene.publish(DISCOUNT)
        with django_assert_max_num_queries(QUERIES):
            show(operator, "?value.status=gold&try=1")
