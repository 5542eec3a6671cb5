"""Every verdict about a loss and a door left open, through the product: exactly that cause is named."""

from datetime import datetime

import pytest
from django.utils import timezone

from config.common.times import format_time, parse_time, truncate_to_milliseconds
from notifications.models import Delivery, Event
from sensors.explanation.verdict import Verdict
from sensors.heartbeat.left_open import report_left_open_once
from sensors.heartbeat.sweep import sweep_once
from sensors.heartbeat.withheld_losses import publish_unmuted_losses_once
from sensors.models import Client, SensorState
from tests.notifications.sending.deliveries import answer, claim, make_due
from tests.sensors.api.callers import Caller
from tests.sensors.explanation.questions import HOUR, ago, ask, lose, say
from tests.sensors.registry import hear

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]


class TestLosses:
    def test_told_of_a_loss(self, desk: Caller, client: Client) -> None:
        lost_at = lose(desk, client)
        answer(*claim())
        assert ask(desk, client, lost_at)["verdict"] == Verdict.TOLD

    def test_muted(self, desk: Caller, client: Client) -> None:
        until = truncate_to_milliseconds(timezone.now() + HOUR)
        desk("PATCH", "/sensors/0xA/", {"muted_until": format_time(until)})
        found = ask(desk, client, lose(desk, client))
        assert (found["verdict"], parse_time(found["until"])) == (Verdict.MUTED, until)

    def test_client_muted(self, desk: Caller, client: Client) -> None:
        until = truncate_to_milliseconds(timezone.now() + HOUR)
        desk("PATCH", f"/clients/{client.pk}/", {"muted_until": format_time(until)})
        found = ask(desk, client, lose(desk, client))
        assert (found["verdict"], parse_time(found["until"])) == (Verdict.MUTED, until)
        assert found["text"].startswith("“Acme” was muted until")

    def test_told_when_the_mute_was_over(self, desk: Caller, client: Client) -> None:
        desk("PATCH", "/sensors/0xA/", {"muted_until": format_time(timezone.now() + HOUR)})
        lost_at = lose(desk, client)
        desk("PATCH", "/sensors/0xA/", {"muted_until": None})
        publish_unmuted_losses_once()
        answer(*claim())
        assert ask(desk, client, lost_at)["verdict"] == Verdict.TOLD

    def test_the_end_of_a_loss_that_was_not_told(self, desk: Caller, client: Client) -> None:
        desk("PATCH", "/sensors/0xA/", {"muted_until": format_time(timezone.now() + HOUR)})
        lose(desk, client)
        at = ago(seconds=1)
        say(desk, 1, at, "b")
        found = ask(desk, client, at)
        assert found["verdict"] == Verdict.LOSS_UNTOLD

    def test_one_of_a_list(self, desk: Caller, client: Client) -> None:
        for number in range(5):
            body = {"id": f"0xB{number}", "address": "1 Gate Street", "clients": [client.pk]}
            desk("POST", "/sensors/", body)
            say(desk, 1, ago(hours=2), sensor=f"0xB{number}")
        for row in Delivery.objects.filter(status="pending"):
            make_due(row)
        answer(*claim())
        SensorState.objects.filter(sensor_id__in=[f"0xB{number}" for number in range(5)]).update(
            seen_at=ago(hours=2), heard_at=None, check_at=ago(hours=1)
        )
        hear()
        sweep_once()
        lost_at = SensorState.objects.get(sensor="0xB3").lost_at
        assert Delivery.objects.latest("pk").type == "sensor.connections_lost"
        assert ask(desk, client, lost_at, sensor="0xB3")["verdict"] == Verdict.PENDING
        answer(*claim())
        assert ask(desk, client, lost_at, sensor="0xB3")["verdict"] == Verdict.TOLD


class TestDoorsLeftOpen:
    @pytest.fixture
    def left_at(self, desk: Caller, client: Client) -> datetime:
        """When the door had been open for its limit of ten minutes; the change itself was told."""
        desk("PATCH", "/sensors/0xA/", {"open_limit": 600})
        say(desk, 1, ago(hours=1))
        answer(*claim())
        hear()
        report_left_open_once()
        return Event.objects.get(type="sensor.left_open").at

    def test_told(self, desk: Caller, client: Client, left_at: datetime) -> None:
        assert ask(desk, client, left_at)["verdict"] == Verdict.PENDING
        answer(*claim())
        assert ask(desk, client, left_at)["verdict"] == Verdict.TOLD

    def test_closed_before_it_was_sent(self, desk: Caller, client: Client, left_at: datetime) -> None:
        say(desk, 0, ago(minutes=1), "b")
        answer(*claim())
        found = ask(desk, client, left_at, about="open")
        assert (found["verdict"], found["text"]) == (Verdict.CLOSED, "The door was closed before the message was sent.")
