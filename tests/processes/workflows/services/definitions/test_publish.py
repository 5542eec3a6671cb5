import hashlib

import pytest
from django.db import IntegrityError
from django.utils import timezone

from config.common.errors import Invalid
from config.records.models import ChangeRecord
from messaging.models import Enterprise
from processes.workflows.errors import KeyTaken, NotExecutable
from processes.workflows.models import EventElement, WorkflowDefinition, WorkflowRevision, WorkflowStartTimer
from processes.workflows.services.definitions.publish import Published
from tests.processes.workflows.engine.dialects.foreign_files import POOLS
from tests.processes.workflows.process_files import (
    chain,
    message,
    named,
    process,
    started_at,
    started_by,
    user,
)
from tests.processes.workflows.scene import Scene

pytestmark = [pytest.mark.django_db, pytest.mark.embedded]

ONE, TWO = chain("p", user("a")), chain("p", user("a"), user("b"))


class TestPublishDefinition:
    def test_numbers_the_revisions(self, scene: Scene) -> None:
        assert scene.publish(ONE) == Published("p", 1, "bpmn", is_new=True)
        assert scene.publish(TWO) == Published("p", 2, "bpmn", is_new=True)
        assert WorkflowDefinition.objects.get().newest == 2

    def test_a_source_that_is_known_is_its_revision_still(self, scene: Scene) -> None:
        scene.publish(ONE)
        scene.publish(TWO)
        assert scene.publish(ONE) == Published("p", 1, "bpmn", is_new=False)
        assert WorkflowRevision.objects.count() == 2

    def test_what_cannot_run_is_not_stored(self, scene: Scene) -> None:
        with pytest.raises(NotExecutable) as caught:
            scene.publish(process("p", '<startEvent id="s"/>', '<sequenceFlow id="x" sourceRef="s" targetRef="y"/>'))
        assert {"element", "line", "message", "name"} == caught.value.data["problems"][0].keys()
        assert not WorkflowDefinition.objects.exists()

    def test_a_key_belongs_to_one_enterprise(self, scene: Scene) -> None:
        Enterprise.objects.create(id="acme", name="Acme")
        scene.publish(ONE, "acme")
        with pytest.raises(KeyTaken):
            scene.publish(TWO)

    def test_an_unknown_enterprise_is_refused(self, scene: Scene) -> None:
        with pytest.raises(Invalid):
            scene.publish(ONE, "nobody")

    def test_knows_what_events_start_and_what_they_are_waited_for_by(self, scene: Scene) -> None:
        scene.publish(chain("p", message("wait"), before=named("custom.x"), start=started_by()))
        found = EventElement.objects.order_by("element").values_list("element", "name", "is_start")
        assert list(found) == [("begin", "custom.x", True), ("wait", "custom.x", False)]

    def test_only_the_newest_revision_is_started_by_events(self, scene: Scene) -> None:
        scene.publish(chain("p", user("a"), before=named("custom.x"), start=started_by()))
        scene.publish(chain("p", user("b"), before=named("custom.y"), start=started_by()))
        assert EventElement.objects.get(is_start=True).name == "custom.y"

    def test_each_executable_process_of_a_file_is_a_definition(self, scene: Scene) -> None:
        published = scene.publish(POOLS)
        assert [(each.key, each.revision) for each in published.definitions] == [("buyer", 1), ("seller", 1)]
        assert set(WorkflowDefinition.objects.values_list("key", flat=True)) == {"buyer", "seller"}
        assert list(EventElement.objects.values_list("revision__definition", "name")) == [("seller", "order")]
        assert scene.publish(POOLS).is_new is False

    def test_none_of_them_is_stored_when_one_belongs_to_somebody_else(self, scene: Scene) -> None:
        Enterprise.objects.create(id="acme", name="Acme")
        scene.publish(chain("seller", user("a")), "acme")
        with pytest.raises(KeyTaken):
            scene.publish(POOLS)
        assert not WorkflowDefinition.objects.filter(key="buyer").exists()

    def test_is_a_line_of_the_change_log(self, scene: Scene) -> None:
        scene.publish(ONE)
        change = ChangeRecord.objects.get(kind="workflow")
        assert (change.object_id, change.actor, change.after["revision"]) == ("p", "tester", 1)

    def test_a_revision_is_one_by_number_and_by_source(self, scene: Scene) -> None:
        scene.publish(ONE)
        digest = hashlib.sha256(ONE).hexdigest()
        with pytest.raises(IntegrityError):
            WorkflowRevision.objects.create(definition_id="p", number=2, source=ONE, digest=digest)

    def test_a_start_timer_runs_for_the_newest_revision(self, scene: Scene) -> None:
        scene.publish(chain("p", user("a"), start=started_at("<timeCycle>R/PT1H</timeCycle>")))
        scene.publish(chain("p", user("b"), start=started_at("<timeCycle>R/PT1H</timeCycle>")))
        timer = WorkflowStartTimer.objects.get()
        assert timer.revision.number == 2
        assert 3500 < (timer.next_at - timezone.now()).total_seconds() <= 3600
