"""Decisions in instances: which revision is evaluated, by whom, and where that is written."""

import json

import pytest
from django.utils import timezone

from messaging.models import Enterprise
from processes.workflows.errors import ScenariosFailed
from processes.workflows.models import WorkflowDefinition, WorkflowIncident
from processes.workflows.presentation import present_version
from processes.workflows.selectors import get_version
from processes.workflows.services.definitions.scenarios import save_scenarios
from processes.workflows.services.returns import return_instance
from tests.processes.workflows.decision_files import DISCOUNT
from tests.processes.workflows.process_files import chain, user
from tests.processes.workflows.scene import ACTOR, Scene
from tests.staff import signed_in

pytestmark = [pytest.mark.django_db, pytest.mark.embedded]
RULE = ("rule", '<businessRuleTask id="rule" postern:decision="discount"/>')
ORDER = chain("order", user("enter"), RULE, user("check"))
NEXT = DISCOUNT.replace(b"0.15", b"0.2")


class TestRevision:
    def test_the_newest_is_evaluated_and_noted_in_the_version(self, scene: Scene) -> None:
        scene.publish(DISCOUNT)
        head = scene.begin(ORDER, status="gold", total=1)
        scene.publish(NEXT)
        head = scene.complete(head, "enter")
        version = present_version(get_version(head.id, 2))
        assert version["variables"]["discount"] == 0.2
        assert version["decisions"] == [
            {"element": "rule", "decision": "discount", "revision": 2, "rules": [1], "times": 1}
        ]
        assert present_version(get_version(head.id, 1))["decisions"] == []

    def test_after_a_return_the_decision_is_evaluated_anew(self, scene: Scene) -> None:
        scene.publish(DISCOUNT)
        head = scene.complete(scene.begin(ORDER, status="gold", total=1), "enter")
        scene.publish(NEXT)
        head = return_instance(head.id, version=1, reason="again", actor=ACTOR, at=timezone.now())
        head = scene.complete(head, "enter")
        assert present_version(get_version(head.id, 4))["decisions"][0]["revision"] == 2


class TestEnterprises:
    def test_a_decision_of_another_enterprise_is_not_found(self, scene: Scene) -> None:
        Enterprise.objects.create(id="acme", name="Acme")
        scene.publish(DISCOUNT, "acme")
        scene.complete(scene.begin(ORDER, status="gold", total=1), "enter")
        assert WorkflowIncident.objects.get().reason == "There is no definition discount."

    def test_its_own_and_the_shared_ones_are(self, scene: Scene) -> None:
        Enterprise.objects.create(id="acme", name="Acme")
        scene.publish(DISCOUNT)
        head = scene.complete(scene.begin(ORDER, enterprise="acme", status="gold", total=1), "enter")
        assert scene.waits_at(head) == ["check"]


class TestScenarios:
    def test_a_revision_that_decides_otherwise_is_refused(self, scene: Scene) -> None:
        scene.publish(DISCOUNT)
        gold = {"name": "gold", "variables": {"status": "gold"}, "steps": [{"expect": {"variables": {"result": 0.15}}}]}
        definition = WorkflowDefinition.objects.get(pk="discount")
        save_scenarios(definition, json.dumps([gold]), actor=ACTOR, at=timezone.now())
        with pytest.raises(ScenariosFailed) as refused:
            scene.publish(NEXT)
        assert refused.value.data["failures"] == [{"scenario": "gold", "failure": "Step 1: result is 0.2, not 0.15."}]
        page = signed_in("operator").get("/admin/workflows/workflowdefinition/discount/scenarios/").content.decode()
        assert "1 of 3 rules match in them." in page
        assert "rule2, rule3" in page
