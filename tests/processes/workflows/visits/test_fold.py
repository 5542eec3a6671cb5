import threading
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.utils import timezone

from processes.workflows.engine.execution.visits import Visit
from processes.workflows.models import StepVisits, VisitTotal, WorkflowRevision
from processes.workflows.services.commands import execute_command
from processes.workflows.services.retention import expire_workflows
from processes.workflows.services.returns import return_instance
from processes.workflows.services.steps import CommandRequest
from processes.workflows.visits import fold
from processes.workflows.visits.figures import ElementFigures, Period, read_figures
from processes.workflows.visits.fold import add_up, fold_visits
from tests.processes.workflows.case_files import case, human, milestone, stage
from tests.processes.workflows.process_files import chain, flow, process, user
from tests.processes.workflows.scene import ACTOR, Scene
from tests.processes.workflows.services.commands.test_cases import item

pytestmark = [pytest.mark.django_db, pytest.mark.embedded]

TWO = chain("p", user("a"), user("b"))
AT = datetime(2026, 11, 18, 10, 30, tzinfo=UTC)


def figures(key: str = "p", revision: int = 1, period: Period = Period.ALL) -> dict[str, ElementFigures]:
    fold_visits()
    found = WorkflowRevision.objects.get(definition=key, number=revision)
    return dict(read_figures(found, period, now=timezone.now()).elements)


def entered(key: str = "p", revision: int = 1) -> dict[str, int]:
    return {element: each.entered for element, each in figures(key, revision).items()}


def standing(key: str = "p", revision: int = 1) -> dict[str, int]:
    return {element: each.standing for element, each in figures(key, revision).items() if each.standing}


class TestFoldVisits:
    def test_counts_what_was_entered_and_what_stands_where(self, scene: Scene) -> None:
        first = scene.begin(TWO)
        scene.complete(first)
        scene.start("p")
        assert entered() == {"begin": 2, "a": 2, "b": 1}
        assert standing() == {"a": 1, "b": 1}

    def test_a_step_is_counted_once(self, scene: Scene) -> None:
        scene.begin(TWO)
        assert not fold_visits()
        assert not fold_visits()
        assert entered() == {"begin": 1, "a": 1}
        assert not StepVisits.objects.exists()

    def test_whoever_dies_in_it_has_counted_nothing(self, scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
        scene.begin(TWO)

        def die(pks: object) -> None:
            raise SystemExit

        with monkeypatch.context() as patch:
            patch.setattr(fold, "in_number_array", die)  # behind the totals, before the steps are deleted
            with pytest.raises(SystemExit):
                fold_visits()
        assert entered() == {"begin": 1, "a": 1}

    def test_a_stay_is_as_long_as_the_token_stood(self, scene: Scene) -> None:
        head = scene.begin(TWO)
        task = scene.head(head).state["tasks"].popitem()[0]
        request = CommandRequest(
            {"command": "complete_task", "task": task, "variables": {}},
            actor=ACTOR,
            at=head.at + timedelta(minutes=5),
        )
        execute_command(head.id, request)
        found = figures()
        assert (found["a"].stays, found["a"].mean, found["a"].median) == (1, 300, 300)
        assert (found["begin"].stays, found["begin"].median) == (1, 0)
        assert (found["b"].stays, found["b"].median) == (0, None)

    def test_of_what_was_never_entered_nothing_is_known(self, scene: Scene) -> None:
        scene.begin(TWO)
        assert "b" not in figures()

    def test_a_revision_that_never_ran_has_no_figures(self, scene: Scene) -> None:
        scene.publish(TWO)
        found = read_figures(WorkflowRevision.objects.get(), Period.ALL, now=timezone.now())
        assert (found.since, found.elements) == (None, {})

    def test_an_ended_instance_stands_nowhere(self, scene: Scene) -> None:
        head = scene.begin(TWO)
        scene.command(head, "terminate")
        assert standing() == {}
        assert figures()["a"].stays == 1

    def test_a_return_moves_what_stands_without_entering_it(self, scene: Scene) -> None:
        head = scene.begin(TWO)
        scene.complete(head)
        return_instance(head.id, version=1, reason="wrong", actor=ACTOR, at=timezone.now())
        assert entered() == {"begin": 1, "a": 1, "b": 1}
        assert standing() == {"a": 1}
        assert figures()["b"].stays == 0

    def test_a_migration_moves_what_stands_to_the_other_revision(self, scene: Scene) -> None:
        head = scene.begin(TWO)
        scene.publish(chain("p", user("a"), user("c")))
        scene.command(head, "migrate", revision=2)
        assert (standing(), standing(revision=2)) == ({}, {"a": 1})
        assert figures()["a"].stays == 0
        assert figures(revision=2)["a"].entered == 0

    def test_a_called_process_has_its_own_figures(self, scene: Scene) -> None:
        scene.publish(TWO)
        call = '<callActivity id="a" calledElement="p"/>'
        scene.begin(chain("outer", ("a", call)))
        assert (entered("outer"), entered("p")) == ({"begin": 1, "a": 1}, {"begin": 1, "a": 1})
        assert (standing("outer"), standing("p")) == ({"a": 1}, {"a": 1})

    def test_rounds_are_entered_not_the_loop_around_them(self, scene: Scene) -> None:
        loop = (
            '<userTask id="a"><multiInstanceLoopCharacteristics><loopCardinality>3</loopCardinality>'
            "</multiInstanceLoopCharacteristics></userTask>"
        )
        scene.begin(chain("p", ("a", loop)))
        assert (entered()["a"], standing()["a"]) == (3, 3)

    def test_what_stood_before_the_counting_does_not_count_when_it_goes(self, scene: Scene) -> None:
        old = scene.begin(TWO)
        StepVisits.objects.all().delete()  # as written by a release that did not count
        scene.complete(old)
        assert standing() == {"b": 1}
        assert figures()["a"].entered == 0

    def test_an_element_that_is_passed_at_once_is_left_at_once(self, scene: Scene) -> None:
        gateway = '<exclusiveGateway id="x"/>'
        head = scene.begin(
            process("p", '<startEvent id="s"/>', gateway, '<endEvent id="e"/>', flow("s", "x"), flow("x", "e"))
        )
        assert scene.head(head).status == "completed"
        assert {element: (each.entered, each.stays) for element, each in figures().items()} == {
            "s": (1, 1),
            "x": (1, 1),
            "e": (1, 1),
        }


class TestCases:
    def test_an_item_is_entered_when_it_starts_and_stands_until_it_ends(self, scene: Scene) -> None:
        head = scene.begin(case(human("A", manual=True), milestone("M", entry="A complete"), human("B")).encode())
        assert (entered("case1"), standing("case1")) == ({"plan": 1, "B": 1}, {"plan": 1, "B": 1})
        head = scene.command(head, "start", item=item(head, "A"))
        assert standing("case1") == {"plan": 1, "A": 1, "B": 1}
        scene.complete(head, "A")
        assert entered("case1") == {"plan": 1, "A": 1, "B": 1, "M": 1}
        assert standing("case1") == {"plan": 1, "B": 1}
        assert figures("case1")["M"] == ElementFigures(entered=1)
        assert figures("case1")["A"].stays == 1

    def test_a_suspended_item_still_stands_there(self, scene: Scene) -> None:
        head = scene.begin(case(human("A"), human("B")).encode())
        for command in ("suspend_item", "resume_item"):
            head = scene.command(head, command, item=item(head, "A"))
            assert standing("case1") == {"plan": 1, "A": 1, "B": 1}
        scene.complete(head, "A")
        assert (figures("case1")["A"].entered, figures("case1")["A"].stays) == (1, 1)

    def test_an_ended_case_stands_nowhere(self, scene: Scene) -> None:
        head = scene.begin(case(stage("S", human("A")), human("B")).encode())
        scene.command(head, "terminate")
        assert standing("case1") == {}
        assert {element: each.stays for element, each in figures("case1").items()} == {
            "plan": 1,
            "S": 1,
            "A": 1,
            "B": 1,
        }


class TestAddUp:
    def test_one_step_is_in_its_hour_its_day_and_ever(self) -> None:
        visit = Visit("p", 1, "a", entered=2)
        found = add_up([(AT, [visit])], {("p", 1): (7, AT)})
        assert {(span, at.isoformat()): count for (_, span, at, _, _), (count, _) in found.items()} == {
            ("hour", "2026-11-18T10:00:00+00:00"): 2,
            ("day", "2026-11-18T00:00:00+00:00"): 2,
            ("ever", "1970-01-01T00:00:00+00:00"): 2,
        }

    def test_a_revision_that_is_not_there_is_left_out(self) -> None:
        assert add_up([(AT, [Visit("p", 1, "a", entered=2)])], {}) == {}

    def test_a_clock_that_was_set_back_makes_no_negative_stay(self) -> None:
        visit = Visit("p", 1, "a", left=[(AT + timedelta(hours=1)).isoformat()])
        found = add_up([(AT, [visit])], {("p", 1): (7, AT)})
        assert {seconds for _, seconds in found.values()} == {0}


class TestExpireVisits:
    def test_hours_and_days_end_and_all_time_stays(self, scene: Scene) -> None:
        scene.begin(TWO)
        fold_visits()
        VisitTotal.objects.filter(span="hour").update(at=timezone.now() - timedelta(hours=27))
        VisitTotal.objects.filter(span="day").update(at=timezone.now() - timedelta(days=33))
        expire_workflows()
        assert set(VisitTotal.objects.values_list("span", flat=True)) == {"ever"}


class TestReadFigures:
    def test_a_period_counts_only_what_lies_in_it_but_what_stands_now(self, scene: Scene) -> None:
        scene.begin(TWO)
        fold_visits()
        VisitTotal.objects.filter(span="hour").update(at=timezone.now() - timedelta(hours=25))
        VisitTotal.objects.filter(span="day").update(at=timezone.now() - timedelta(days=10))
        found = {period: figures(period=period) for period in Period}
        assert found[Period.DAY] == found[Period.WEEK] == {"a": ElementFigures(standing=1)}
        assert found[Period.MONTH] == found[Period.ALL]
        assert found[Period.ALL]["a"].entered == 1


@pytest.mark.django_db(transaction=True)
class TestTwoAtOnce:
    def test_each_step_is_counted_once(self, scene: Scene) -> None:
        scene.publish(TWO)
        for _ in range(20):
            scene.start("p")
        threads = [threading.Thread(target=_fold_and_close) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert (entered()["a"], standing()["a"]) == (20, 20)


def _fold_and_close() -> None:
    try:
        fold_visits()
    finally:
        connection.close()
