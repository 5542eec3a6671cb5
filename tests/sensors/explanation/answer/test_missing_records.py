"""What is said where the records of that time are away or have expired."""

from typing import Any

import pytest
from django.utils import timezone

from config.common.times import format_time
from config.records.models import ChangeRecord
from notifications.models import Delivery
from notifications.services.relay import relay_once
from notifications.services.sequencer import stamp_once
from sensors.explanation.verdict import Verdict
from sensors.history.follower import FOLLOWING
from sensors.models import Client
from tests.notifications.sending.deliveries import answer, claim
from tests.sensors.api.callers import Caller
from tests.sensors.explanation.questions import HOUR, ago, ask, say
from tests.sensors.registry import hear, make_client, make_sensor

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]


class TestWhatIsNotKnown:
    def test_history_away(self, desk: Caller, settings: Any) -> None:
        client = make_client()
        make_sensor(created_at=ago(days=999))
        hear()
        settings.CLICKHOUSE_URL = "clickhouse://127.0.0.1:9/history"
        found = ask(desk, client, ago(minutes=5))
        assert found["verdict"] == Verdict.HISTORY_AWAY
        assert "History is unavailable" in found["text"]

    def test_what_the_outbox_knows_is_said_while_history_is_away(
        self, desk: Caller, client: Client, settings: Any
    ) -> None:
        at = ago(minutes=5)
        say(desk, 1, at)
        answer(*claim())
        settings.CLICKHOUSE_URL = "clickhouse://127.0.0.1:9/history"
        assert ask(desk, client, at)["verdict"] == Verdict.TOLD

    def test_refusals_have_expired(self, desk: Caller, settings: Any) -> None:
        client = make_client()
        make_sensor(created_at=ago(days=999))
        hear()
        settings.CHANGE_DAYS = 365
        found = ask(desk, client, ago(days=settings.REJECTED_DAYS + 1))
        assert found["verdict"] == Verdict.EXPIRED
        assert "Whether one was rejected is no longer known" in found["text"]

    def test_deliveries_have_expired(self, desk: Caller, client: Client, settings: Any) -> None:
        at = ago(minutes=5)
        say(desk, 1, at)
        Delivery.objects.all().delete()
        settings.DELIVERY_DAYS = 0
        assert ask(desk, client, at)["verdict"] == Verdict.EXPIRED

    def test_history_has_expired(self, desk: Caller, settings: Any) -> None:
        client = make_client()
        make_sensor(created_at=ago(days=999))
        hear()
        settings.HISTORY_RETENTION_MONTHS, settings.REJECTED_DAYS, settings.CHANGE_DAYS = 1, 999, 999
        found = ask(desk, client, ago(days=99))
        assert found["verdict"] == Verdict.EXPIRED
        assert found["text"] == "This is no longer known: the records of that time have expired."

    def test_what_was_before_a_signal_may_have_expired(self, desk: Caller, client: Client, settings: Any) -> None:
        say(desk, 1, ago(minutes=3), "b")
        at = ago(minutes=5)
        say(desk, 1, at)
        settings.HISTORY_RETENTION_MONTHS = 1
        assert ask(desk, client, at)["verdict"] == Verdict.EXPIRED

    def test_links_of_that_time_have_expired(self, desk: Caller, client: Client, settings: Any) -> None:
        at = ago(minutes=5)
        say(desk, 1, at)
        Delivery.objects.all().delete()
        ChangeRecord.objects.all().delete()
        settings.CHANGE_DAYS = 0
        assert ask(desk, client, at)["verdict"] == Verdict.EXPIRED

    def test_history_remembers_who_was_told(self, desk: Caller, client: Client, settings: Any) -> None:
        at = ago(minutes=5)
        say(desk, 1, at)
        answer(*claim())
        stamp_once()
        while relay_once(FOLLOWING):
            pass
        Delivery.objects.all().delete()
        settings.DELIVERY_DAYS = 0
        assert ask(desk, client, at)["verdict"] == Verdict.TOLD

    def test_the_future_is_not_asked_about(self, desk: Caller, client: Client) -> None:
        at = format_time(timezone.now() + HOUR)
        found = desk("GET", f"/explain/?sensor=0xA&client={client.pk}&at={at}")
        assert (found.status_code, list(found.json()["data"]["fields"])) == (400, ["at"])
