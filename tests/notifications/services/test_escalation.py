import importlib
from collections.abc import Callable
from typing import Any

import pytest
from django.apps import apps
from django.contrib.auth.models import User
from django.db import connection
from structlog.testing import capture_logs

from config.common.database.leases import LeaseLost, claim
from notifications.models import Alert, Delivery, Endpoint, Rung
from notifications.services import escalation
from notifications.services.alert_messages import list_entries
from notifications.services.alerts import acknowledge_alert, mute_alert, resolve_alert
from notifications.services.escalation import LEASE, escalate_once
from notifications.services.ladder import ensure_endpoints, save_rung
from tests.notifications.alerts import escalate, list_messages, make_alert, pass_time, set_ladder, two_rungs

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]

MAIL, SMS = ("alert.raised", "mailto:ops@example.org"), ("alert.raised", "sms:+375291234567")


class TestEscalateOnce:
    def test_the_first_rung_is_told_at_once_and_the_next_when_its_time_comes(self) -> None:
        two_rungs()
        make_alert()
        escalate()
        assert list_messages() == [MAIL]
        pass_time(598)
        escalate()
        assert list_messages() == [MAIL]
        pass_time(3)
        escalate()
        assert list_messages() == [MAIL, SMS]
        assert Alert.objects.get().due_at is None

    def test_the_message_carries_all_that_its_text_needs(self) -> None:
        two_rungs()
        alert = make_alert(error="refused")
        escalate()
        delivery = Delivery.objects.get()
        assert (delivery.family, delivery.subject, delivery.status) == ("alert", f"alert/{alert.pk}", "pending")
        assert delivery.body | {"first_at": "", "at": ""} == {
            "version": 1,
            "type": "alert.raised",
            "id": alert.pk,
            "kind": "engine.down",
            "subject": "engine/redis",
            "page": "/admin/",
            "title": "%(engine)s does not answer",
            "detail": {"engine": "Redis", "error": "refused"},
            "count": 1,
            "first_at": "",
            "at": "",
            "note": "",
        }

    @pytest.mark.parametrize("act", [acknowledge_alert, resolve_alert])
    def test_ends_with_an_acknowledgement_or_a_resolution(self, act: Callable[[int, str], None]) -> None:
        two_rungs()
        alert = make_alert()
        escalate()
        act(alert.pk, "staff:olga")
        pass_time(3600)
        escalate()
        assert list_messages() == [MAIL]

    def test_a_repeat_calls_nobody_again(self) -> None:
        two_rungs()
        for _ in range(3):
            make_alert()
            escalate()
        assert list_messages() == [MAIL]

    def test_after_an_hour_without_a_climber_every_rung_is_told(self) -> None:
        two_rungs()
        make_alert()
        pass_time(3600)
        escalate()
        assert list_messages() == [MAIL, SMS]

    def test_an_acknowledgement_between_the_claim_and_the_move_wins(self, monkeypatch: pytest.MonkeyPatch) -> None:
        two_rungs()
        alert = make_alert()

        def acknowledged_meanwhile(rungs: list[Rung]) -> list[int]:
            acknowledge_alert(alert.pk, "staff:olga")
            return ensure_endpoints(rungs)

        monkeypatch.setattr(escalation, "ensure_endpoints", acknowledged_meanwhile)
        claimed = claim(Alert.objects.all(), limit=1, lease=LEASE)[0]
        with pytest.raises(LeaseLost):
            escalation._escalate(claimed)
        assert list_messages() == []

    def test_a_mute_between_the_claim_and_the_move_wins(self, monkeypatch: pytest.MonkeyPatch) -> None:
        two_rungs()
        alert = make_alert()

        def muted_meanwhile(rungs: list[Rung]) -> list[int]:
            mute_alert(alert.pk, "staff:olga", 3600)
            return ensure_endpoints(rungs)

        monkeypatch.setattr(escalation, "ensure_endpoints", muted_meanwhile)
        claimed = claim(Alert.objects.all(), limit=1, lease=LEASE)[0]
        with pytest.raises(LeaseLost):
            escalation._escalate(claimed)
        assert list_messages() == []

    def test_a_ladder_changed_between_the_claim_and_the_move_is_looked_at_again(self) -> None:
        set_ladder((0, "email", "ops@example.org"))
        make_alert()
        claimed = claim(Alert.objects.all(), limit=1, lease=LEASE)[0]
        save_rung(Rung(after_seconds=0, channel="sms", addresses="+375291234567"), actor="staff:olga")
        with pytest.raises(LeaseLost):
            escalation._escalate(claimed)

    def test_a_climber_that_dies_leaves_the_rung_to_the_next_one(self, monkeypatch: pytest.MonkeyPatch) -> None:
        two_rungs()
        make_alert()
        with monkeypatch.context() as broken:
            broken.setattr(escalation, "enqueue_alert_messages", lambda *_: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                escalate_once()
        assert escalate_once() is False
        pass_time(int(LEASE.total_seconds()))
        escalate()
        assert list_messages() == [MAIL]

    def test_an_idle_look_costs_one_read(self, django_assert_num_queries: Any) -> None:
        two_rungs()
        make_alert()
        escalate()
        with django_assert_num_queries(1):
            assert escalate_once() is False

    def test_an_empty_ladder_ends_the_climb(self) -> None:
        set_ladder()
        make_alert()
        escalate()
        assert Alert.objects.get().due_at is None

    def test_a_rung_that_reaches_nobody_is_logged_and_passed(self) -> None:
        set_ladder((0, "sms", ""), (0, "email", "ops@example.org"))
        Rung.objects.filter(channel="email").update(after_seconds=60)
        make_alert()
        with capture_logs() as logs:
            escalate()
        assert [line["event"] for line in logs if line["log_level"] == "warning"] == ["alert.nobody_to_tell"]
        pass_time(61)
        escalate()
        assert list_messages() == [MAIL]

    def test_equal_addresses_of_several_rungs_are_one_message(self, settings: Any) -> None:
        settings.ADMIN_EMAIL = "ops@example.org"
        set_ladder((0, "email", "ops@example.org"), (0, "email", "ops@example.org, two@example.org"))
        Rung.objects.update(to_administrator=True)
        make_alert()
        escalate()
        assert list_messages() == [MAIL, ("alert.raised", "mailto:two@example.org")]

    def test_a_mailbox_that_was_given_up_is_tried_again(self) -> None:
        two_rungs()
        Endpoint.objects.create(url="mailto:ops@example.org", secret=b"", active=False, off_reason="away for days")
        make_alert()
        escalate()
        endpoint = Endpoint.objects.get()
        assert (endpoint.active, endpoint.off_reason, Delivery.objects.get().endpoint) == (True, "", endpoint)


class TestDefaultLadder:
    def test_is_mail_to_superusers_and_the_administrator_then_an_sms(self, settings: Any) -> None:
        set_ladder()
        migration = importlib.import_module("notifications.migrations.0004_alerts")
        migration.make_ladder(apps, type("Editor", (), {"connection": connection}))
        settings.ADMIN_EMAIL, settings.ADMIN_PHONE = "admin@example.org", "+375291234567"
        User.objects.create_superuser("one", "one@example.org")
        User.objects.create_superuser("two", "")
        User.objects.create_superuser("gone", "gone@example.org", is_active=False)
        User.objects.create_user("clerk", "clerk@example.org", is_staff=True)
        make_alert()
        pass_time(601)
        escalate()
        assert [url for _, url in list_messages()] == ["mailto:one@example.org", "mailto:admin@example.org", SMS[1]]


@pytest.mark.django_db(transaction=True)
def test_eight_processes_at_once_notify_each_rung_once(in_threads: Callable[..., list[None]]) -> None:
    two_rungs()
    for number in range(20):
        make_alert(subject=f"engine/{number}")
    pass_time(601)
    in_threads(lambda _: escalate(), 8)
    assert Endpoint.objects.count() == 2
    every = sorted(Alert.objects.values_list("pk", flat=True))
    for endpoint in Endpoint.objects.all():
        listed = [entry["id"] for row in endpoint.deliveries.all() for entry in list_entries(row.body)]
        assert sorted(listed) == every
