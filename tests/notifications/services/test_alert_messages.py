from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from notifications.models import Alert, Delivery, ListedSubject
from notifications.sending.presentation import mail_subject, mail_text, sms_text
from notifications.services.alert_messages import APART, GATHER, list_entries
from notifications.services.alerts import acknowledge_alert, close_alert
from notifications.trace import trace_deliveries
from tests.notifications.alerts import escalate, make_alert, set_ladder
from tests.notifications.sending.deliveries import answer, claim, make_due
from tests.sensors.registry import make_client
from tests.staff import signed_in

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]


@pytest.fixture(autouse=True)
def _ladder() -> None:
    set_ladder((0, "email", "ops@example.org"), (0, "sms", "+375291234567"))


def raise_many(count: int) -> list[Alert]:
    return [make_alert(subject=f"engine/{number}", engine=f"Engine {number}") for number in range(count)]


def listed(row: Delivery) -> list[str]:
    return [entry["subject"] for entry in list_entries(row.body)]


def fail(row: Delivery, status: int = 500) -> None:
    make_due(row)
    answer(*[each for each in claim() if each.id == row.pk], status=status)
    row.refresh_from_db()


class TestTogether:
    def test_many_alerts_are_one_message_to_each_person_and_channel(self) -> None:
        raise_many(40)
        escalate()
        mail, sms = Delivery.objects.order_by("endpoint__url")
        assert listed(mail) == listed(sms) == [f"engine/{number}" for number in range(40)]
        assert mail.due_at is not None
        assert mail.due_at - timezone.now() <= GATHER

    def test_the_texts_name_them_all_or_as_many_as_there_is_room_for(self) -> None:
        raise_many(40)
        escalate()
        body = Delivery.objects.order_by("endpoint__url")[0].body
        text = mail_text(body)
        assert all(f"{number + 1}. Engine {number} does not answer" in text for number in range(40))
        assert mail_subject(body).startswith("[Postern] 40 alerts: Engine 0 does not answer; Engine 1")
        assert len(sms_text(body)) <= 300
        assert sms_text(body).endswith("/admin/notifications/alert/")

    def test_a_dead_receiver_goes_by_its_name(self, settings: Any) -> None:
        settings.DELIVERY_ATTEMPTS = 1
        client = make_client("Granit")
        row = Delivery.objects.create(endpoint=client.endpoint, type="t", family="list", body={}, due_at=timezone.now())
        fail(row)
        assert Alert.objects.get(kind="deliveries.dead").words == "Messages to Granit could not be delivered"

    def test_what_comes_after_one_has_left_waits_for_a_minute_at_most(self) -> None:
        make_alert(subject="engine/a")
        escalate()
        make_due(*Delivery.objects.all())
        answer(*claim(), status=200)
        make_alert(subject="engine/b")
        escalate()
        last = Delivery.objects.order_by("-pk")[0]
        assert listed(last) == ["engine/b"]
        assert last.due_at is not None
        assert APART - timedelta(seconds=5) < last.due_at - timezone.now() <= APART

    def test_what_is_on_its_way_is_not_joined(self) -> None:
        make_alert(subject="engine/a")
        escalate()
        make_due(*Delivery.objects.all())
        assert len(claim()) == 2
        make_alert(subject="engine/b")
        escalate()
        assert [listed(row) for row in Delivery.objects.order_by("pk")] == [["engine/a"]] * 2 + [["engine/b"]] * 2

    def test_what_could_not_be_sent_is_joined_and_tried_soon_with_all_attempts(self, settings: Any) -> None:
        make_alert(subject="engine/a")
        escalate()
        row = Delivery.objects.order_by("pk")[0]
        fail(row)
        make_alert(subject="engine/b")
        escalate()
        row.refresh_from_db()
        assert (listed(row), row.attempts, row.attempts_made) == (["engine/a", "engine/b"], 0, 1)
        assert row.due_at is not None
        assert row.due_at - timezone.now() <= APART

    def test_past_a_number_another_message_begins(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("notifications.services.alert_messages.MOST_TOGETHER", 2)
        set_ladder((0, "email", "ops@example.org"))
        raise_many(5)
        escalate()
        assert [len(listed(row)) for row in Delivery.objects.order_by("pk")] == [2, 2, 1]

    def test_one_that_is_over_before_it_was_told_says_so_once(self) -> None:
        one, _two = raise_many(2)
        escalate()
        close_alert(one.kind, one.subject, "it responds again")
        body = Delivery.objects.order_by("pk")[0].body
        assert [entry["type"] for entry in list_entries(body)] == ["alert.closed", "alert.raised"]
        assert Delivery.objects.count() == 2
        assert "Closed: Engine 0 does not answer" in mail_text(body)

    def test_those_who_read_it_in_a_list_are_told_that_it_is_over(self) -> None:
        _one, two = raise_many(2)
        escalate()
        make_due(*Delivery.objects.all())
        answer(*claim(), status=200)
        close_alert(two.kind, two.subject)
        closed = Delivery.objects.filter(type="alert.closed")
        assert {row.endpoint.url for row in closed} == {"mailto:ops@example.org", "sms:+375291234567"}

    def test_each_of_them_shows_on_its_page_and_in_its_trace_who_was_told(self) -> None:
        _one, two = raise_many(2)
        escalate()
        Alert.objects.filter(pk=two.pk).update(correlation_id="the-second-chain")
        page = signed_in("operator").get(f"/admin/notifications/alert/{two.pk}/change/").content.decode()
        assert "ops@example.org" in page
        kinds = [(step.kind, step.id) for step in trace_deliveries("the-second-chain", 10)]
        assert kinds == [("delivery", row.pk) for row in Delivery.objects.order_by("pk")]


class TestUnnotifiedAlerts:
    @pytest.fixture
    def rows(self, settings: Any) -> list[Delivery]:
        settings.DELIVERY_ATTEMPTS = 2
        raise_many(2)
        escalate()
        return list(Delivery.objects.order_by("pk"))

    def use_up(self, row: Delivery) -> None:
        for _ in range(4):
            if row.status == "pending":
                fail(row)

    def test_an_open_alert_is_told_until_somebody_is(self, rows: list[Delivery]) -> None:
        for row in rows:
            self.use_up(row)
        assert [(row.status, row.attempts) for row in rows] == [("pending", 4), ("pending", 4)]
        fail(rows[0], status=200)
        fail(rows[1])
        assert [row.status for row in rows] == ["delivered", "dead"]

    def test_one_that_somebody_has_taken_on_may_end(self, rows: list[Delivery]) -> None:
        for alert in Alert.objects.filter(kind="engine.down"):
            acknowledge_alert(alert.pk, "staff:olga")
        self.use_up(rows[0])
        assert rows[0].status == "dead"

    def test_one_of_a_list_that_is_open_and_untold_keeps_the_message(self, rows: list[Delivery]) -> None:
        acknowledge_alert(Alert.objects.get(subject="engine/0").pk, "staff:olga")
        self.use_up(rows[0])
        assert rows[0].status == "pending"

    def test_the_gateway_that_says_gone_is_no_farewell(self, rows: list[Delivery]) -> None:
        fail(rows[1], status=410)
        rows[1].endpoint.refresh_from_db()
        assert (rows[1].status, rows[1].endpoint.active) == ("pending", True)

    def test_a_channel_that_is_back_is_used_at_once_for_what_waits(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("notifications.services.alert_messages.MOST_TOGETHER", 1)
        set_ladder((0, "email", "ops@example.org"))
        raise_many(2)
        escalate()
        first, second = Delivery.objects.order_by("pk")
        fail(first)
        assert first.due_at is not None
        assert first.due_at > timezone.now() + timedelta(minutes=1)
        fail(second, status=200)
        first.refresh_from_db()
        assert first.due_at is not None
        assert first.due_at <= timezone.now()


def test_places_in_a_message_hold_nothing_up() -> None:
    raise_many(2)
    escalate()
    assert set(ListedSubject.objects.values_list("is_open", flat=True)) == {False}
