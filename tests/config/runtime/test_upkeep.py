import json
import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from celery.schedules import crontab
from django.utils import timezone
from django_celery_beat.models import IntervalSchedule, PeriodicTask

from config import schedule
from config.runtime import upkeep as module
from config.runtime.upkeep import TASK, load_schedule, run_next_due
from config.schedule import Upkeep

pytestmark = pytest.mark.embedded

runs: list[str] = []


def note_one() -> None:
    runs.append("one")


def note_two() -> None:
    runs.append("two")


def fail() -> None:
    runs.append("failed")
    raise ValueError("boom")


def make(name: str, function: str = "note_one") -> Upkeep:
    return Upkeep(name=name, function=f"{__name__}.{function}", at=crontab(minute="7"), sentence=f"For {name}.")


ONE, TWO = make("one"), make("two", "note_two")


@pytest.fixture(autouse=True)
def _clear() -> None:
    runs.clear()


@pytest.fixture
def table(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Put upkeep into the table and into the database, last run long ago."""

    def load(*entries: Upkeep) -> None:
        monkeypatch.setattr(schedule, "SCHEDULE", entries)
        load_schedule(entries)
        PeriodicTask.objects.update(last_run_at=timezone.now() - timedelta(hours=3))

    return load


@pytest.mark.django_db
class TestLoadSchedule:
    def test_adds_what_is_in_the_table_with_its_sentence(self) -> None:
        load_schedule((ONE,))
        row = PeriodicTask.objects.get(name="one")
        assert (row.task, json.loads(row.args), row.description) == (TASK, ["one"], "For one.")
        assert (row.crontab.minute, row.crontab.hour, row.enabled) == ("7", "*", True)

    def test_a_second_time_changes_nothing(self) -> None:
        load_schedule((ONE, TWO))
        before = list(PeriodicTask.objects.order_by("pk").values())
        load_schedule((ONE, TWO))
        assert list(PeriodicTask.objects.order_by("pk").values()) == before

    def test_leaves_what_staff_changed(self) -> None:
        load_schedule((ONE,))
        hourly = IntervalSchedule.objects.create(every=2, period="hours")
        PeriodicTask.objects.update(crontab=None, interval=hourly, enabled=False, description="ours")
        load_schedule((ONE,))
        row = PeriodicTask.objects.get()
        assert (row.interval, row.enabled, row.description) == (hourly, False, "ours")

    def test_removes_what_is_no_longer_in_the_table(self) -> None:
        load_schedule((ONE, TWO))
        load_schedule((TWO,))
        assert [row.name for row in PeriodicTask.objects.all()] == ["two"]

    def test_leaves_the_tasks_of_others(self) -> None:
        hourly = IntervalSchedule.objects.create(every=1, period="hours")
        PeriodicTask.objects.create(name="one", task="someone.else", interval=hourly)
        load_schedule((ONE,))
        assert PeriodicTask.objects.get().task == "someone.else"

    def test_replaces_a_row_whose_arguments_staff_mistyped(self) -> None:
        load_schedule((ONE,))
        PeriodicTask.objects.update(args="7")
        load_schedule((ONE,))
        assert PeriodicTask.objects.get().args == '["one"]'


@pytest.mark.django_db
class TestRunNextDue:
    def test_runs_what_is_due_once(self, table: Callable[..., None]) -> None:
        table(ONE)
        assert (run_next_due(), run_next_due()) == (True, False)
        assert runs == ["one"]

    def test_counts_the_run_for_staff_to_see(self, table: Callable[..., None]) -> None:
        table(ONE)
        run_next_due()
        row = PeriodicTask.objects.get()
        assert row.total_run_count == 1
        assert timezone.now() - row.last_run_at < timedelta(minutes=1)

    def test_does_not_run_what_is_not_due(self, table: Callable[..., None]) -> None:
        table(ONE)
        PeriodicTask.objects.update(last_run_at=timezone.now())
        assert run_next_due() is False

    def test_does_not_run_what_staff_switched_off(self, table: Callable[..., None]) -> None:
        table(ONE)
        PeriodicTask.objects.update(enabled=False)
        assert run_next_due() is False

    def test_a_new_entry_waits_for_its_first_time(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(schedule, "SCHEDULE", (ONE,))
        load_schedule((ONE,))
        assert run_next_due() is False

    def test_an_entry_that_fails_waits_for_its_next_time_and_holds_up_no_other(
        self, table: Callable[..., None]
    ) -> None:
        table(make("bad", "fail"), TWO)
        with pytest.raises(ValueError, match="boom"):
            run_next_due()
        assert (run_next_due(), run_next_due()) == (True, False)
        assert runs == ["failed", "two"]

    def test_respects_the_dates_that_staff_set(self, table: Callable[..., None]) -> None:
        table(ONE)
        PeriodicTask.objects.update(start_time=timezone.now() + timedelta(hours=1))
        assert run_next_due() is False


@pytest.mark.django_db(transaction=True)
class TestTwoSchedulers:
    def test_that_find_an_entry_due_at_once_run_it_once(
        self, table: Callable[..., None], in_threads: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        table(ONE)
        all_have_looked, is_due = threading.Barrier(8), module._is_due

        def look_together(row: PeriodicTask) -> bool:
            found = is_due(row)
            all_have_looked.wait(60)
            return found

        monkeypatch.setattr(module, "_is_due", look_together)
        found = in_threads(lambda number: run_next_due(), 8)
        assert (sorted(found), runs) == ([False] * 7 + [True], ["one"])

    def test_the_mark_moves_before_the_work(self, table: Callable[..., None]) -> None:
        table(ONE)
        row = PeriodicTask.objects.get()
        assert module._take(row, at=timezone.now()) is True
        assert module._take(row, at=timezone.now()) is False
