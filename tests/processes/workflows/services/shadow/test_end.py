"""A trial begins beside the current revision and ends by promotion or discarding, whatever else happens at once."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.utils import timezone

from config.records.models import ChangeRecord
from processes.workflows import errors
from processes.workflows.models import (
    EventElement,
    ShadowDifference,
    ShadowInput,
    ShadowTwin,
    WorkflowDefinition,
    WorkflowRevision,
    WorkflowShadow,
)
from processes.workflows.services.definitions.scenarios import save_scenarios
from processes.workflows.services.shadow import begin
from processes.workflows.services.shadow.end import discard_shadow, promote_shadow
from processes.workflows.services.shadow.follow import follow_shadows
from processes.workflows.services.start import StartRequest, start_instance
from tests.processes.workflows.decision_files import DISCOUNT
from tests.processes.workflows.process_files import chain, named, started_by, user
from tests.processes.workflows.scene import ACTOR, Scene
from tests.processes.workflows.services.shadow.trial import follow, try_out

pytestmark = [pytest.mark.django_db, pytest.mark.embedded]

InThreads = Callable[[Callable[[int], Any], int], list[Any]]
ORDER = chain("order", user("check"))
NEXT = chain("order", user("check"), user("pack"))


def promote(revision: int | None = None) -> int:
    return promote_shadow("order", revision=revision, actor=ACTOR, at=timezone.now())


def discard(revision: int | None = None) -> int:
    return discard_shadow("order", revision=revision, actor=ACTOR)


def newest() -> int:
    return WorkflowDefinition.objects.get(pk="order").newest


class TestBegin:
    def test_says_which_starts_are_not_tried(self, scene: Scene) -> None:
        scene.publish(ORDER)
        begun = try_out(chain("order", user("check"), before=named("custom.x"), start=started_by()))
        told = [(each.element, each.message) for each in begun.warnings]
        assert told == [("begin", "On trial nothing begins here: the current revision does not start like this.")]

    def test_the_current_revision_goes_on_starting_instances(self, scene: Scene) -> None:
        scene.publish(ORDER)
        made = try_out(NEXT)
        assert (made.revision, made.is_shadow, made.is_executable, made.is_new) == (2, True, False, True)
        assert (newest(), scene.start("order").revision) == (1, 1)

    def test_no_instance_starts_with_it_by_its_number(self, scene: Scene) -> None:
        scene.publish(ORDER)
        try_out(NEXT)
        with pytest.raises(errors.NotPossible):
            start_instance(StartRequest("order", revision=2), actor=ACTOR, at=timezone.now())

    def test_the_same_again_is_the_same_trial(self, scene: Scene) -> None:
        scene.publish(ORDER)
        try_out(NEXT)
        assert (try_out(NEXT).is_new, WorkflowShadow.objects.count()) == (False, 1)

    def test_there_is_one_trial_of_a_definition(self, scene: Scene) -> None:
        scene.publish(ORDER)
        try_out(NEXT)
        with pytest.raises(errors.ShadowExists) as refusal:
            try_out(chain("order", user("other")))
        assert refusal.value.data == {"revision": 2}
        assert WorkflowRevision.objects.count() == 2

    def test_where_nothing_is_current_there_is_nothing_beside(self) -> None:
        with pytest.raises(errors.NothingBeside):
            try_out(ORDER)
        assert not WorkflowDefinition.objects.exists()

    def test_a_decision_has_no_instances_to_hear(self, scene: Scene) -> None:
        scene.publish(DISCOUNT)
        with pytest.raises(errors.NothingBeside):
            try_out(DISCOUNT)

    def test_what_was_published_before_is_not_tried(self, scene: Scene) -> None:
        scene.publish(ORDER + b"<!-- another -->")
        with pytest.raises(errors.PublishedBefore):
            try_out(ORDER)

    def test_at_most_so_many_are_on_trial(self, scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(begin, "MOST_SHADOWS", 0)
        scene.publish(ORDER)
        with pytest.raises(errors.TooManyShadows):
            try_out(NEXT)

    def test_is_a_line_of_the_change_log(self, scene: Scene) -> None:
        scene.publish(ORDER)
        try_out(NEXT)
        change = ChangeRecord.objects.latest("pk")
        assert (change.before, change.after, change.actor) == ({"shadow": None}, {"shadow": 2}, ACTOR)


class TestPromote:
    def test_new_instances_start_with_it_and_the_twins_are_gone(self, scene: Scene) -> None:
        scene.publish(ORDER)
        try_out(NEXT)
        old = scene.complete(scene.start("order"))
        scene.start("order")
        assert follow().different == 1
        assert (promote(2), newest(), scene.start("order").revision, old.revision) == (2, 2, 2, 1)
        rows = (WorkflowShadow, ShadowTwin, ShadowDifference)
        assert [model.objects.count() for model in rows] == [0, 0, 0]
        before, after = ChangeRecord.objects.order_by("pk").values_list("before", "after")[2:4]
        assert before == ({"shadow": 2}, {"shadow": None})
        assert (after[0]["revision"], after[1]["revision"]) == (1, 2)

    def test_it_hears_events_from_then_on(self, scene: Scene) -> None:
        source = chain("order", user("check"), start=started_by(), before=named("custom.new"))
        scene.publish(source)
        try_out(source.replace(b"check", b"look"))
        assert list(EventElement.objects.filter(is_start=True).values_list("revision__number", flat=True)) == [1]
        tried = WorkflowRevision.objects.get(number=2).created_at
        promote()
        assert list(EventElement.objects.filter(is_start=True).values_list("revision__number", flat=True)) == [2]
        # What was recorded before has started instances of the other one.
        assert WorkflowRevision.objects.get(number=2).created_at > tried

    def test_not_over_a_revision_that_was_published_since(self, scene: Scene) -> None:
        scene.publish(ORDER)
        try_out(NEXT)
        scene.publish(chain("order", user("urgent")))
        with pytest.raises(errors.RevisionConflict) as refusal:
            promote()
        assert (refusal.value.data, newest()) == ({"revision": 3}, 3)

    def test_not_one_that_nobody_has_seen(self, scene: Scene) -> None:
        scene.publish(ORDER)
        try_out(NEXT)
        discard()
        try_out(chain("order", user("other")))
        with pytest.raises(errors.ShadowExists):
            promote(2)

    def test_not_against_scenarios_that_were_written_since(self, scene: Scene) -> None:
        scene.publish(ORDER)
        try_out(NEXT)
        expected = [{"name": "short", "steps": [{"complete": "check"}, {"expect": {"status": "completed"}}]}]
        definition = WorkflowDefinition.objects.get()
        save_scenarios(definition, json.dumps(expected), actor=ACTOR, at=timezone.now())
        with pytest.raises(errors.ScenariosFailed):
            promote()
        assert (newest(), WorkflowShadow.objects.count()) == (1, 1)

    def test_publishing_the_same_file_promotes_it_too(self, scene: Scene) -> None:
        scene.publish(ORDER)
        try_out(NEXT)
        assert scene.publish(NEXT + b"<!-- another -->").revision == 2
        assert (newest(), WorkflowShadow.objects.count()) == (2, 0)


class TestDiscard:
    def test_the_revision_stays_to_be_looked_at(self, scene: Scene) -> None:
        scene.publish(ORDER)
        try_out(NEXT)
        head = scene.start("order")
        assert (discard(2), newest(), WorkflowShadow.objects.count()) == (2, 1, 0)
        assert not WorkflowRevision.objects.get(number=2).is_executable
        assert ChangeRecord.objects.latest("pk").before == {"shadow": 2}
        # What its instances were and are given is not kept.
        assert scene.complete(head).status == "completed"
        assert ShadowInput.objects.count() == 1
        follow_shadows()
        assert ShadowInput.objects.count() == 0

    def test_what_is_not_there_is_not_found(self, scene: Scene) -> None:
        with pytest.raises(errors.DefinitionNotFound):
            discard()
        scene.publish(ORDER)
        for end in (discard, promote):
            with pytest.raises(errors.ShadowNotFound):
                end()

    def test_it_can_be_tried_again(self, scene: Scene) -> None:
        scene.publish(ORDER)
        try_out(NEXT)
        discard()
        assert (try_out(NEXT).revision, WorkflowShadow.objects.count()) == (2, 1)


@pytest.mark.django_db(transaction=True)
class TestRaces:
    def test_of_a_promotion_and_a_publication_at_once_the_published_one_is_current(
        self, scene: Scene, in_threads: InThreads
    ) -> None:
        scene.publish(ORDER)
        try_out(NEXT)

        def act(number: int) -> bool:
            try:
                if number % 2:
                    promote(2)
                else:
                    scene.publish(chain("order", user(f"urgent{number}")))
            except (errors.RevisionConflict, errors.ShadowNotFound):
                return False
            return True

        outcomes = in_threads(act, 4)
        assert outcomes[0::2] == [True, True]
        assert sum(outcomes[1::2]) <= 1
        # The promotion was before the publications, or not at all.
        assert newest() in (3, 4)
        assert WorkflowShadow.objects.count() == (0 if any(outcomes[1::2]) else 1)
