from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from threading import Barrier
from typing import Any

import pytest
from django.db import connection, transaction
from django.db.models import F, Sum
from django.utils import timezone

from notifications.models import Alert
from sensors.ingest import rejections
from sensors.ingest.rejections import check_rejection_rate_once, record_rejections
from sensors.ingest.signals import Code, Rejection
from sensors.models import RejectedSignal

NOW = datetime(2026, 5, 4, 12, 30, 15, tzinfo=UTC)
MOST = 10

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]


@pytest.fixture(autouse=True)
def _few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rejections, "MOST_SENSORS", MOST)


def refuse(numbers: Iterable[int], *, code: Code = Code.UNKNOWN_SENSOR, at: datetime = NOW) -> None:
    record_rejections([Rejection(n, code, f"no s{n:05}", f"s{n:05}", f"raw s{n:05}") for n in numbers], now=at)


def refuse_now(times: int, *, sensors: int = 1) -> None:
    each = [
        Rejection(n, Code.UNKNOWN_SENSOR, "no such sensor is registered", f"s{n % sensors}", "{}") for n in range(times)
    ]
    record_rejections(each, now=timezone.now())


def held() -> dict[str, int]:
    return dict(RejectedSignal.objects.values_list("sensor_id", "count"))


class TestRecordRejections:
    def test_beyond_the_limit_a_minute_has_one_row_for_the_rest(self) -> None:
        refuse(range(25))
        assert held() == {f"s{n:05}": 1 for n in range(MOST)} | {"": 15}

    def test_the_limit_holds_over_the_batches_of_a_minute(self) -> None:
        for first in range(0, 40, 8):
            refuse(range(first, first + 8))
        assert len(held()) == MOST + 1
        assert RejectedSignal.objects.aggregate(all=Sum("count")) == {"all": 40}

    def test_a_sensor_that_has_its_row_keeps_it(self) -> None:
        refuse(range(MOST))
        refuse([3, 3, 77])
        assert held() == {f"s{n:05}": 1 for n in range(MOST)} | {"s00003": 3, "": 1}

    def test_every_reason_and_every_minute_has_room_of_its_own(self) -> None:
        refuse(range(MOST))
        refuse(range(MOST), code=Code.BAD_DATA)
        refuse(range(MOST), at=NOW + timedelta(minutes=1))
        assert RejectedSignal.objects.exclude(sensor_id="").count() == 3 * MOST

    def test_the_row_of_the_rest_shows_one_of_them(self) -> None:
        refuse(range(MOST))
        refuse([50, 51])
        rest = RejectedSignal.objects.get(sensor_id="")
        assert rest.raw == rest.message.replace("no", "raw")
        assert rest.message in ("no s00050", "no s00051")

    def test_of_a_thousand_without_room_one_row_is_written(self, monkeypatch: pytest.MonkeyPatch) -> None:
        refuse(range(MOST))
        written: list[tuple[object, ...]] = []
        monkeypatch.setattr(rejections, "bulk_execute", lambda package, name, rows: written.extend(rows))
        refuse(range(100, 1100))
        assert [(row[1], row[3]) for row in written] == [("", 1000)]

    def test_refusals_without_a_sensor_take_nobodys_room(self) -> None:
        record_rejections([Rejection(0, Code.UNKNOWN_SENSOR, "no")], now=NOW)
        refuse(range(MOST))
        assert held() == {f"s{n:05}": 1 for n in range(MOST)} | {"": 1}

    @pytest.mark.slow
    def test_twenty_thousand_unknown_ids_are_a_thousand_rows(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.undo()
        for first in range(0, 20_000, 2000):
            refuse(range(first, first + 2000))
        assert len(held()) == 1001
        assert held()[""] == 19_000


@pytest.mark.django_db(transaction=True)
def test_consumers_at_once_lose_no_count_and_do_not_wait_in_a_circle() -> None:
    if connection.vendor != "postgresql":
        pytest.skip("one writer at a time")
    together = Barrier(3)

    def consume(name: int) -> None:
        together.wait(60)
        try:
            for turn in range(5):
                with transaction.atomic():
                    refuse(range(name, 300, 1 + (name + turn) % 3))
                    refuse(range(name, 300, 2), code=Code.BAD_DATA)
        finally:
            connection.close()

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(consume, range(3)))
    sent = sum(len(range(n, 300, 1 + (n + turn) % 3)) + len(range(n, 300, 2)) for n in range(3) for turn in range(5))
    assert RejectedSignal.objects.aggregate(all=Sum("count")) == {"all": sent}
    assert RejectedSignal.objects.exclude(sensor_id="").count() <= 2 * 3 * MOST


class TestCheckRejectionRateOnce:
    @pytest.fixture(autouse=True)
    def _low_limit(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(rejections, "MOST_SENSORS", 1000)
        monkeypatch.setattr(rejections, "STORM_FROM", 10)

    @pytest.mark.parametrize("sensors", [1, 11])
    def test_more_than_the_limit_within_a_minute_is_one_alert(self, sensors: int) -> None:
        refuse_now(11, sensors=sensors)
        check_rejection_rate_once()
        check_rejection_rate_once()
        alert = Alert.objects.get()
        assert (alert.kind, alert.count, alert.detail["refused"]) == ("signals.rejected", 1, 11)
        assert alert.words == "More than 10 signals a minute are being rejected"
        assert alert.detail["reason"] == "no such sensor is registered"

    def test_those_that_share_the_row_of_the_rest_are_counted(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(rejections, "MOST_SENSORS", 3)
        monkeypatch.setattr(rejections, "STORM_FROM", 4)
        refuse_now(50, sensors=50)
        for code in (Code.BAD_DATA, Code.BAD_TIME, Code.BAD_SHAPE):
            record_rejections([Rejection(n, code, "no", f"t{n}") for n in range(9)], now=timezone.now())
        check_rejection_rate_once()
        assert Alert.objects.get().detail["refused"] == 77

    def test_fewer_are_none(self) -> None:
        refuse_now(10)
        check_rejection_rate_once()
        assert not Alert.objects.exists()

    def test_refusals_of_long_ago_do_not_count(self) -> None:
        refuse_now(11)
        RejectedSignal.objects.update(recorded_at=F("recorded_at") - timedelta(minutes=2))
        check_rejection_rate_once()
        assert not Alert.objects.exists()

    def test_the_next_minute_counts_as_a_repeat(self) -> None:
        refuse_now(11)
        check_rejection_rate_once()
        Alert.objects.update(last_at=F("last_at") - timedelta(minutes=1))
        check_rejection_rate_once()
        assert Alert.objects.get().count == 2

    def test_is_over_after_ten_calm_minutes(self) -> None:
        refuse_now(11)
        check_rejection_rate_once()
        for minutes, status in ((9, "open"), (2, "resolved")):
            Alert.objects.update(last_at=F("last_at") - timedelta(minutes=minutes))
            RejectedSignal.objects.update(recorded_at=F("recorded_at") - timedelta(minutes=minutes))
            check_rejection_rate_once()
            assert Alert.objects.get().status == status

    def test_a_quiet_look_is_two_reads(self, django_assert_max_num_queries: Any) -> None:
        with django_assert_max_num_queries(2):
            check_rejection_rate_once()
