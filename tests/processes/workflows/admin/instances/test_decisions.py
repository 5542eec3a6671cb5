import pytest
from django.test import Client

from tests.processes.workflows.decision_files import DISCOUNT
from tests.processes.workflows.process_files import chain, user
from tests.processes.workflows.scene import Scene

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]
RULE = ("rule", '<businessRuleTask id="rule" postern:decision="discount"/>')


def test_the_page_of_a_version_says_which_decisions_led_to_it(scene: Scene, operator: Client) -> None:
    scene.publish(DISCOUNT)
    head = scene.begin(chain("order", user("enter"), RULE, user("check")), status="silver", total=150)
    head = scene.complete(head, "enter")
    page = operator.get(f"/admin/workflows/workflowinstance/{head.id}/versions/2/").content.decode()
    assert "/admin/workflows/workflowdefinition/discount/change/?revision=1" in page
    assert "rules that matched: 2" in page
    before = operator.get(f"/admin/workflows/workflowinstance/{head.id}/versions/1/").content.decode()
    assert "rules that matched" not in before
