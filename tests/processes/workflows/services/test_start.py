import pytest
from django.utils import timezone

from config.common.correlation import correlated
from config.common.errors import Invalid
from processes.workflows import errors
from processes.workflows.models import (
    WorkflowVersion,
    WorkItem,
)
from processes.workflows.services.start import StartRequest, start_instance
from tests.processes.workflows.process_files import (
    chain,
    named,
    script,
    user,
)
from tests.processes.workflows.scene import ACTOR, Scene

pytestmark = [pytest.mark.django_db, pytest.mark.embedded]

TWO_TASKS = chain("p", user("a"), user("b"))


class TestStartInstance:
    def test_writes_the_first_version(self, scene: Scene) -> None:
        with correlated("chain-1234"):
            head = scene.begin(TWO_TASKS, record="r1", x=1)
        version = WorkflowVersion.objects.get()
        assert (version.number, version.parent, version.cause, version.actor) == (1, None, "start", ACTOR)
        assert (version.correlation_id, version.status) == ("chain-1234", "active")
        assert scene.head(head) == head

    def test_mirrors_the_open_task(self, scene: Scene) -> None:
        head = scene.begin(TWO_TASKS)
        item = WorkItem.objects.get()
        assert (item.element, item.name, item.kind, item.status, item.opened_by) == ("a", "A", "user", "open", 1)
        assert item.public_id == scene.task(head)

    def test_an_older_revision_may_be_named(self, scene: Scene) -> None:
        scene.publish(TWO_TASKS)
        scene.publish(chain("p", user("c")))
        head = start_instance(StartRequest("p", revision=1), actor=ACTOR, at=timezone.now())
        assert (head.revision, scene.waits_at(head)) == (1, ["a"])

    def test_an_unknown_definition_or_revision_is_not_found(self, scene: Scene) -> None:
        with pytest.raises(errors.DefinitionNotFound):
            scene.start("p")
        scene.publish(TWO_TASKS)
        with pytest.raises(errors.RevisionNotFound):
            start_instance(StartRequest("p", revision=2), actor=ACTOR, at=timezone.now())

    def test_a_record_has_at_most_200_characters(self, scene: Scene) -> None:
        scene.publish(TWO_TASKS)
        with pytest.raises(Invalid):
            scene.start("p", record="x" * 201)

    def test_a_process_without_a_plain_start_is_not_possible(self, scene: Scene) -> None:
        begin = '<startEvent id="begin"><messageEventDefinition messageRef="m1"/></startEvent>'
        with pytest.raises(errors.NotPossible):
            scene.begin(chain("p", user("a"), before=named("custom.x"), start=begin))

    def test_a_process_may_end_at_once(self, scene: Scene) -> None:
        head = scene.begin(chain("p", script("s", "y", "x + 1")), x=1)
        assert (head.status, head.ended_at) == ("completed", head.at)
