from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from config.common.database.partitions import ensure_partitions
from config.common.times import to_milliseconds
from config.schedule import get_upkeep
from sensors.history.store import HistoryStore
from sensors.history.values import Period
from sensors.history.windows import months_back
from sensors.models import RejectedSignal
from sensors.services.retention import expire_rejected_signals
from tests.sensors.history.past_records import event, signal


def reject(days_ago: int) -> RejectedSignal:
    minute = (timezone.now() - timedelta(days=days_ago)).replace(second=0, microsecond=0)
    return RejectedSignal.objects.create(code="bad_data", sensor_id=f"s{days_ago}", recorded_at=minute, message="x")


@pytest.mark.embedded
@pytest.mark.django_db(transaction=True)
class TestExpireRejectedSignals:
    def test_deletes_what_is_older_than_a_week(self) -> None:
        reject(9)
        young = reject(1)
        expire_rejected_signals()
        assert list(RejectedSignal.objects.values_list("pk", flat=True)) == [young.pk]

    def test_a_day_that_upkeep_missed_is_moved_out_of_the_default_partition(self) -> None:
        reject(3)
        ensure_partitions(RejectedSignal, today=timezone.now().date())
        assert RejectedSignal.objects.count() == 1
        if connection.vendor == "postgresql":
            with connection.cursor() as cursor:
                cursor.execute("SELECT count(*) FROM sensors_rejectedsignal_default")
                assert cursor.fetchone() == (0,)


class TestMonthsBack:
    @pytest.mark.parametrize(
        ("months", "expected"), [(1, (2026, 2)), (2, (2026, 1)), (3, (2025, 12)), (27, (2023, 12)), (1200, (1926, 3))]
    )
    def test_returns_the_beginning_of_that_month(self, months: int, expected: tuple[int, int]) -> None:
        at = datetime(2026, 3, 31, 23, 59, tzinfo=UTC)
        assert months_back(at, months) == datetime(*expected, 1, tzinfo=UTC)


@pytest.mark.django_db
class TestExpireHistory:
    @pytest.mark.parametrize(("months", "left"), [(0, 2), (1, 1), (100, 2)])
    def test_keeps_what_the_setting_says(self, request: Any, settings: Any, months: int, left: int) -> None:
        settings.HISTORY_RETENTION_MONTHS = months
        store: HistoryStore = request.getfixturevalue("clickhouse_store")
        times = [to_milliseconds(timezone.now() - timedelta(days=days)) for days in (0, 63)]
        store.add_signals([signal(at=at, id=str(at)) for at in times])
        store.add_events([event(n, at=at) for n, at in enumerate(times)])
        get_upkeep("forget_old_history").run()
        assert len(store.read_signals(["0xA"], Period(), limit=9)) == left
        assert len(store.read_events(["0xA"], Period(), limit=9)) == left
