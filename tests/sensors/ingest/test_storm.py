from datetime import timedelta
from typing import Any

import pytest
from django.db.models import F
from django.utils import timezone

from notifications.models import Alert
from sensors.ingest import rejections
from sensors.ingest.rejections import check_rejection_rate_once, record_rejections
from sensors.ingest.signals import Code, Rejection
from sensors.models import RejectedSignal

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]


@pytest.fixture(autouse=True)
def _few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rejections, "A_MINUTE", 10)


def refuse(times: int, *, sensors: int = 1) -> None:
    each = [
        Rejection(n, Code.UNKNOWN_SENSOR, "no such sensor is registered", f"s{n % sensors}", "{}") for n in range(times)
    ]
    record_rejections(each, now=timezone.now())


class TestWatchRejectedOnce:
    @pytest.mark.parametrize("sensors", [1, 11])
    def test_more_than_the_limit_within_a_minute_is_one_alert(self, sensors: int) -> None:
        refuse(11, sensors=sensors)
        check_rejection_rate_once()
        check_rejection_rate_once()
        alert = Alert.objects.get()
        assert (alert.kind, alert.count, alert.detail["refused"]) == ("signals.rejected", 1, 11)
        assert alert.words == "More than 10 signals a minute are refused"
        assert alert.detail["reason"] == "no such sensor is registered"

    def test_those_that_share_the_row_of_the_rest_are_counted(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("sensors.ingest.rejections.MOST_SENSORS", 3)
        monkeypatch.setattr(rejections, "A_MINUTE", 4)
        refuse(50, sensors=50)
        for code in (Code.BAD_DATA, Code.BAD_TIME, Code.BAD_SHAPE):
            record_rejections([Rejection(n, code, "no", f"t{n}") for n in range(9)], now=timezone.now())
        check_rejection_rate_once()
        assert Alert.objects.get().detail["refused"] == 77

    def test_fewer_are_none(self) -> None:
        refuse(10)
        check_rejection_rate_once()
        assert not Alert.objects.exists()

    def test_refusals_of_long_ago_do_not_count(self) -> None:
        refuse(11)
        RejectedSignal.objects.update(recorded_at=F("recorded_at") - timedelta(minutes=2))
        check_rejection_rate_once()
        assert not Alert.objects.exists()

    def test_the_next_minute_counts_as_a_repeat(self) -> None:
        refuse(11)
        check_rejection_rate_once()
        Alert.objects.update(last_at=F("last_at") - timedelta(minutes=1))
        check_rejection_rate_once()
        assert Alert.objects.get().count == 2

    def test_is_over_after_ten_calm_minutes(self) -> None:
        refuse(11)
        check_rejection_rate_once()
        for minutes, status in ((9, "open"), (2, "resolved")):
            Alert.objects.update(last_at=F("last_at") - timedelta(minutes=minutes))
            RejectedSignal.objects.update(recorded_at=F("recorded_at") - timedelta(minutes=minutes))
            check_rejection_rate_once()
            assert Alert.objects.get().status == status

    def test_a_quiet_look_is_two_reads(self, django_assert_max_num_queries: Any) -> None:
        with django_assert_max_num_queries(2):
            check_rejection_rate_once()
