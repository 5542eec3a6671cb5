from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from config.common.database.partitions import ensure_partitions
from sensors.models import RejectedSignal
from sensors.services.retention import expire_rejected_signals

pytestmark = [pytest.mark.embedded, pytest.mark.django_db(transaction=True)]


def reject(days_ago: int) -> RejectedSignal:
    minute = (timezone.now() - timedelta(days=days_ago)).replace(second=0, microsecond=0)
    return RejectedSignal.objects.create(code="bad_data", sensor_id=f"s{days_ago}", recorded_at=minute, message="x")


class TestKeepRejected:
    def test_forgets_what_is_older_than_a_week(self) -> None:
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
