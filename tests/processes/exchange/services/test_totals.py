import random
import threading
import uuid
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any, get_args

import pytest
from django.db import connection, transaction
from django.utils import timezone

from config.common.database.counted_spans import DAY, HOUR, CountedTables, Parts, floor_hour
from messaging.models import Message
from processes.exchange.models import COUNTED, CountedSpan, ExchangeProcess, ProcessMessage, SpanTotal, TouchedHour
from processes.exchange.services import totals
from processes.exchange.services.totals import count_finished_spans
from processes.exchange.statistics import By, count_over_time, count_totals
from tests.processes.exchange.scene import Scene

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite counts from the rows"),
]

Direction, Folder, Status = Message.Direction, Message.Folder, Message.Status
FOLDERS = {Status.WAITING: Folder.MESSAGES, Status.PROCESSED: Folder.LOG, Status.INCORRECT: Folder.ERROR}


def ago(**span: float) -> datetime:
    return timezone.now() - timedelta(**span)


def make_message(scene: Scene, at: datetime, status: Message.Status = Status.WAITING, **fields: Any) -> Message:
    """A message that was accepted at a time; where it is settled, ten minutes later."""
    settled_at = None if status == Status.WAITING else at + timedelta(minutes=10)
    values = {"direction": Direction.REQUEST, "settled_at": settled_at, "size": 100, **fields}
    return Message.objects.create(
        enterprise=scene.enterprise,
        database=scene.database,
        device=scene.device,
        subsystem=scene.subsystem,
        public_id=uuid.uuid4().hex,
        digest=b"\0" * 32,
        created_at=at,
        accepted_at=at,
        status=status,
        folder=FOLDERS[status],
        **values,
    )


def let_time_pass() -> None:
    """Forget that the rows came with old times: in real life they are young when they are written."""
    TouchedHour.objects.all().delete()


def true_totals(by: By, start: datetime, end: datetime, monkeypatch: pytest.MonkeyPatch) -> Any:
    with monkeypatch.context() as counting:
        counting.setattr(CountedTables, "find_parts", lambda tables, start, end, bounds=(): Parts({}, [(start, end)]))
        return count_totals(by, start, end), count_over_time(by, "", start, end, 5)


class TestCountFinishedSpans:
    def test_counts_hours_and_days_that_are_over(self, scene: Scene) -> None:
        for hours in (0.1, 5, 30, 60):
            make_message(scene, ago(hours=hours), Status.PROCESSED)
        let_time_pass()
        count_finished_spans()
        end = floor_hour(timezone.now()) + HOUR
        parts = COUNTED.find_parts(end - 3 * DAY, end)
        assert sum((until - since for since, until in parts.ranges), timedelta()) <= timedelta(hours=24)
        assert [row["sent"] for row in count_totals("device", end - 3 * DAY, end)] == [4]
        lengths = set(CountedSpan.objects.filter(pk__in=parts.spans).values_list("length", flat=True))
        assert lengths == {"hour", "day"}

    def test_what_is_counted_is_not_read_again(self, scene: Scene) -> None:
        make_message(scene, ago(hours=5), Status.PROCESSED)
        let_time_pass()
        count_finished_spans()
        # What was settled in the next hour has a row there, too, in which nothing was sent.
        SpanTotal.objects.filter(sent__gt=0).update(sent=1000)
        assert count_totals("database", ago(days=1), timezone.now())[0]["sent"] == 1000

    def test_the_hour_that_has_just_ended_is_left_for_later(self, scene: Scene) -> None:
        make_message(scene, ago(days=2))
        count_finished_spans()
        last = CountedSpan.objects.order_by("-at").filter(length="hour")[0]
        assert timedelta(hours=2) <= timezone.now() - last.at < timedelta(hours=3)

    def test_old_totals_are_deleted(self, scene: Scene) -> None:
        make_message(scene, ago(days=2))
        for length, days in (("hour", 10), ("day", 10), ("day", 402)):
            at = floor_hour(ago(days=days)).replace(hour=0)
            CountedSpan.objects.create(length=length, at=at)
        count_finished_spans()
        old = CountedSpan.objects.filter(at__lt=ago(days=9)).values_list("length", flat=True)
        assert list(old) == ["day"]

    def test_nothing_is_counted_where_there_are_no_messages(self) -> None:
        count_finished_spans()
        assert not CountedSpan.objects.exists()


class TestTriggers:
    def test_the_usual_course_of_a_message_touches_nothing(self, scene: Scene) -> None:
        process = scene.ready()
        scene.step(process, "commit")
        Message.objects.filter(direction=Direction.REPLY).update(status=Status.PROCESSED, folder=Folder.LOG)
        assert not TouchedHour.objects.exists()

    def test_a_message_that_waited_for_long_touches_nothing_when_it_is_settled(self, scene: Scene) -> None:
        message = make_message(scene, ago(hours=9))
        let_time_pass()
        Message.objects.filter(pk=message.pk).update(
            status=Status.PROCESSED, folder=Folder.LOG, settled_at=timezone.now()
        )
        assert not TouchedHour.objects.exists()

    def test_hours_are_those_of_utc(self, scene: Scene) -> None:
        make_message(scene, datetime(2026, 3, 1, 10, 59, 59, tzinfo=UTC))
        assert set(TouchedHour.objects.values_list("at", flat=True)) == {datetime(2026, 3, 1, 10, tzinfo=UTC)}


class TestTruth:
    """Totals equal the count of the rows, whatever happens and whenever the upkeep runs, or dies."""

    @pytest.mark.parametrize("seed", range(3))
    def test_after_random_work(self, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
        chance, scenes = random.Random(seed), [Scene("acme"), Scene("other")]
        for _ in range(40):
            status = chance.choice([Status.WAITING, Status.PROCESSED, Status.INCORRECT])
            make_message(chance.choice(scenes), ago(hours=chance.uniform(0, 80)), status, size=chance.randrange(999))
        for _ in range(10):
            make_message(
                scenes[0], ago(hours=chance.uniform(3, 80)), Status.WAITING, direction=Direction.REPLY, size=50
            )
        let_time_pass()
        for _ in range(25):
            chance.choice([self.change, self.remove, self.find, self.deadlock, self.count, self.die])(
                chance, scenes, monkeypatch
            )
            start = ago(hours=chance.uniform(1, 100))
            end = start + (timezone.now() - start) * chance.uniform(0.1, 1)
            by = chance.choice(get_args(By))
            assert (count_totals(by, start, end), count_over_time(by, "", start, end, 5)) == true_totals(
                by, start, end, monkeypatch
            )

    def change(self, chance: random.Random, scenes: list[Scene], monkeypatch: pytest.MonkeyPatch) -> None:
        """Requeue one, settle another: now, or as of when its file was found."""
        message = chance.choice(list(Message.objects.order_by("pk")))
        status = chance.choice([Status.WAITING, Status.PROCESSED, Status.INCORRECT])
        settled_at = None if status == Status.WAITING else ago(hours=chance.choice([0, 0, 7, 40]))
        Message.objects.filter(pk=message.pk).update(status=status, folder=FOLDERS[status], settled_at=settled_at)

    def remove(self, chance: random.Random, scenes: list[Scene], monkeypatch: pytest.MonkeyPatch) -> None:
        free = Message.objects.filter(entries__isnull=True).order_by("pk")
        chance.choice(list(free)).delete()

    def find(self, chance: random.Random, scenes: list[Scene], monkeypatch: pytest.MonkeyPatch) -> None:
        make_message(chance.choice(scenes), ago(hours=chance.uniform(2, 80)), Status.PROCESSED)

    def deadlock(self, chance: random.Random, scenes: list[Scene], monkeypatch: pytest.MonkeyPatch) -> None:
        at = ago(hours=chance.uniform(0, 80))
        process = ExchangeProcess.objects.create(
            database=scenes[0].database, status="ROLLED_BACK", decision="not_committed", started_at=at, ended_at=at
        )
        message = chance.choice(list(Message.objects.order_by("pk")))
        ProcessMessage.objects.create(
            process=process, message=message, place=1, result="PROCESSED_DEADLOCK", prepared_at=at
        )
        entry = chance.choice(list(ProcessMessage.objects.order_by("pk")))
        ProcessMessage.objects.filter(pk=entry.pk).update(result=chance.choice(["PROCESSED", "PROCESSED_DEADLOCK"]))

    def count(self, chance: random.Random, scenes: list[Scene], monkeypatch: pytest.MonkeyPatch) -> None:
        count_finished_spans()

    def die(self, chance: random.Random, scenes: list[Scene], monkeypatch: pytest.MonkeyPatch) -> None:
        """Let the upkeep be killed at one of its writes."""
        left, write = chance.randrange(30), totals._write_totals

        def write_or_die(*args: Any) -> None:
            nonlocal left
            left -= 1
            if left < 0:
                raise KeyboardInterrupt
            write(*args)

        with monkeypatch.context() as dying:
            dying.setattr(totals, "_write_totals", write_or_die)
            with suppress(KeyboardInterrupt):
                count_finished_spans()


@pytest.mark.django_db(transaction=True)
def test_a_change_that_is_committed_while_its_hour_is_counted_is_not_lost() -> None:
    scene = Scene()
    message = make_message(scene, ago(hours=5), Status.PROCESSED)
    let_time_pass()
    changed, counted = threading.Event(), threading.Event()

    def change() -> None:
        try:
            with transaction.atomic():
                Message.objects.filter(pk=message.pk).update(
                    status=Status.WAITING, folder=Folder.MESSAGES, settled_at=None
                )
                changed.set()
                counted.wait(60)
        finally:
            connection.close()

    changer = threading.Thread(target=change)
    changer.start()
    assert changed.wait(60)
    count_finished_spans()
    assert count_totals("device", ago(days=1), timezone.now())[0]["processed"] == 1
    counted.set()
    changer.join()
    assert count_totals("device", ago(days=1), timezone.now())[0]["processed"] == 0
    count_finished_spans()
    assert not TouchedHour.objects.exists()
    assert count_totals("device", ago(days=1), timezone.now())[0]["processed"] == 0


@pytest.mark.django_db(transaction=True)
def test_two_at_once_count_once(in_threads: Any) -> None:
    scene = Scene()
    for hours in range(3, 40, 4):
        make_message(scene, ago(hours=hours), Status.PROCESSED)

    def count(number: int) -> None:
        try:
            count_finished_spans()
        finally:
            connection.close()

    in_threads(count, 2)
    assert count_totals("device", ago(days=3), timezone.now())[0]["sent"] == 10
    assert not TouchedHour.objects.exists()
