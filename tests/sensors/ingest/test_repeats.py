from datetime import timedelta

import pytest
from django.utils import timezone

from config.common.times import to_milliseconds
from sensors.ingest import repeats
from sensors.ingest.apply import apply_signals
from sensors.ingest.repeats import record_repeats
from sensors.ingest.signals import Signal
from sensors.models import RepeatedSignal
from sensors.services.retention import expire_rejected_signals
from tests.sensors.registry import make_sensor

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]

NOW = timezone.now()


def signal(sensor_id: str = "0xA", id: str = "a") -> Signal:
    at = to_milliseconds(NOW)
    return Signal(sensor_id, at, id, 1, at)


class TestRecordRepeats:
    def test_a_signal_that_came_again_leaves_a_row_and_a_new_one_none(self) -> None:
        make_sensor()
        apply_signals([signal()])
        assert not RepeatedSignal.objects.exists()
        apply_signals([signal()])
        row = RepeatedSignal.objects.get()
        assert (row.sensor_id, row.signal_id, to_milliseconds(row.signal_at)) == ("0xA", "a", to_milliseconds(NOW))

    def test_a_minute_has_the_last_of_each_sensor(self) -> None:
        record_repeats([signal(id="a"), signal("0xB")], now=NOW)
        record_repeats([signal(id="b")], now=NOW)
        rows = RepeatedSignal.objects.order_by("sensor_id").values_list("sensor_id", "signal_id")
        assert list(rows) == [("0xA", "b"), ("0xB", "a")]

    def test_a_storm_stays_a_few_rows(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(repeats, "MOST_SENSORS", 3)
        record_repeats([signal(f"s{number}") for number in range(5)], now=NOW)
        record_repeats([signal("s0", "b"), signal("s9")], now=NOW)
        assert set(RepeatedSignal.objects.values_list("sensor_id", "signal_id")) == {
            ("s0", "b"),
            ("s1", "a"),
            ("s2", "a"),
        }

    def test_they_expire_with_what_was_rejected(self) -> None:
        record_repeats([signal()], now=NOW - timedelta(days=400))
        record_repeats([signal()], now=NOW)
        expire_rejected_signals()
        assert RepeatedSignal.objects.count() == 1
