from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from config.records.models import UserSettings
from notifications.admin import alerts as alerts_admin
from notifications.models import Alert, Delivery, Rung
from notifications.services.alerts import acknowledge_alert, close_alert, mute_alert, resolve_alert
from tests.notifications.alerts import escalate, make_alert, two_rungs
from tests.staff import signed_in

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]

LIST, LADDER = "/admin/notifications/alert/", "/admin/notifications/rung/"


@pytest.fixture
def operator() -> Client:
    return signed_in("operator")


def listed(client: Client, **query: str) -> list[str]:
    return [alert.subject for alert in client.get(LIST, query).context["cl"].result_list]


class TestInbox:
    @pytest.fixture(autouse=True)
    def _three(self) -> None:
        acknowledge_alert(make_alert(subject="taken").pk, "staff:ivan")
        make_alert(subject="waiting")
        acknowledge_alert(make_alert(subject="taken later").pk, "staff:ivan")
        make_alert(subject="waiting later")
        resolve_alert(make_alert(subject="done").pk, "staff:ivan")

    def test_what_nobody_has_taken_on_stands_first(self, operator: Client) -> None:
        assert listed(operator) == ["waiting", "waiting later", "taken", "taken later"]

    def test_of_these_the_most_severe_stands_first(self, operator: Client) -> None:
        make_alert("test", "only a test")
        make_alert("sensor.flapping", "not so bad")
        assert listed(operator, status="open") == ["waiting", "waiting later", "not so bad", "only a test"]
        assert listed(operator, severity="2") == ["not so bad"]
        page = operator.get(LIST).content.decode()
        for code, word in (("critical", "critical"), ("warning", "warning"), ("notice", "notice")):
            assert f'data-severity="{code}"><i class="material-symbols-outlined" aria-hidden="true"></i>{word}<' in page

    @pytest.mark.parametrize(
        ("status", "subjects"),
        [
            ("open", ["waiting", "waiting later"]),
            ("acknowledged", ["taken", "taken later"]),
            ("resolved", ["done"]),
            ("all", ["done", "waiting later", "taken later", "waiting", "taken"]),
        ],
    )
    def test_filters_by_status(self, operator: Client, status: str, subjects: list[str]) -> None:
        assert listed(operator, status=status) == subjects

    def test_several_are_acknowledged_at_once(self, operator: Client) -> None:
        chosen = list(Alert.objects.exclude(status="resolved").values_list("pk", flat=True))
        action = {"action": "acknowledge_chosen", "_selected_action": chosen}
        question = operator.post(LIST, action).content.decode()
        assert [f"<li>{alert.words}</li>" in question for alert in Alert.objects.filter(pk__in=chosen)] == [True] * 4
        answer = operator.post(LIST, {**action, "confirmed": "yes"}, follow=True)
        assert "2 alerts acknowledged." in answer.content.decode()
        assert not Alert.objects.filter(status="open").exists()

    def test_the_question_names_what_each_is_about_once(self, operator: Client) -> None:
        titles = {"A1": "It comes and goes", "B2": "Sensor B2 comes and goes"}
        chosen = [make_alert("sensor.flapping", f"sensor/{name}").pk for name in titles]
        for pk, title in zip(chosen, titles.values(), strict=True):
            Alert.objects.filter(pk=pk).update(title=title)
        for action in ("acknowledge_chosen", "mute_chosen"):
            question = operator.post(LIST, {"action": action, "_selected_action": chosen}).content.decode()
            assert "<li>Sensor B2 comes and goes</li>" in question
            assert "<li>It comes and goes · A1</li>" in question

    def test_of_too_many_the_first_are_acknowledged(self, operator: Client, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(alerts_admin, "MOST_AT_ONCE", 1)
        chosen = list(Alert.objects.filter(status="open").order_by("pk").values_list("pk", flat=True))
        operator.post(
            LIST, {"action": "acknowledge_chosen", "_selected_action": chosen, "confirmed": "yes"}, follow=True
        )
        assert list(Alert.objects.filter(status="open").order_by("pk").values_list("pk", flat=True)) == chosen[1:]

    def test_several_are_muted_until_a_time_of_the_viewers_zone(self, operator: Client) -> None:
        UserSettings.objects.create(user=User.objects.get(username="olga"), time_zone="Europe/Minsk")
        chosen = list(Alert.objects.exclude(status="resolved").values_list("pk", flat=True))
        action = {"action": "mute_chosen", "_selected_action": chosen}
        assert "even if they close and are raised again" in operator.post(LIST, action).content.decode()
        end = (timezone.now() + timedelta(hours=30)).replace(second=0, microsecond=0)
        until = f"{end + timedelta(hours=3):%Y-%m-%dT%H:%M}"
        answers = {**action, "confirmed": "yes", "length": "until", "until": until}
        page = operator.post(LIST, answers, follow=True).content.decode()
        assert "4 alerts are muted." in page
        assert "muted until <time" in page
        ends = Alert.objects.exclude(status="resolved").values_list("muted_until", flat=True)
        assert all(abs(each - end) < timedelta(seconds=2) for each in ends)

    def test_leads_to_what_an_alert_is_about(self, operator: Client) -> None:
        make_alert(subject="coordination/11")
        link = '<a class="pst-link pst-url" href="/admin/coordination/appevent/11/change/" title="coordination/11">'
        assert f"{link}change set 11</a>" in operator.get(LIST).content.decode()

    def test_says_the_kind_in_words(self, operator: Client) -> None:
        page = operator.get(f"{LIST}{make_alert().pk}/change/").content.decode()
        assert '<span title="engine.down">Engine down</span>' in page

    def test_a_viewer_looks_and_acts_not(self) -> None:
        viewer = signed_in("viewer")
        alert = Alert.objects.get(subject="waiting")
        page = viewer.get(LIST).content.decode()
        assert "/acknowledge/" not in page
        for verb in ("acknowledge", "mute", "resolve"):
            assert viewer.post(f"{LIST}{alert.pk}/{verb}/").status_code == 403

    def test_costs_the_same_for_many(self, operator: Client, django_assert_max_num_queries: Any) -> None:
        operator.get(LIST)
        for number in range(20):
            make_alert(subject=f"s{number}")
        with django_assert_max_num_queries(16):
            operator.get(LIST)


class TestEmptyInbox:
    def test_tells_what_is_left_out_from_what_is_not_there(self, operator: Client) -> None:
        assert "Nothing here yet." in operator.get(LIST).content.decode()
        resolve_alert(make_alert().pk, "staff:ivan")
        assert "No matches." in operator.get(LIST).content.decode()


class TestPage:
    def test_tells_what_happened_and_who_was_told(self, operator: Client) -> None:
        two_rungs()
        alert = make_alert(error="<script>alert(1)</script>")
        escalate()
        Delivery.objects.update(status="dead", due_at=None, reason="550 no such mailbox", attempts_made=10)
        acknowledge_alert(alert.pk, "staff:ivan")
        close_alert("engine.down", "engine/redis", "it responds again")
        page = operator.get(f"{LIST}{alert.pk}/change/").content.decode()
        for part in (
            "ops@example.org",
            "550 no such mailbox",
            "attempts: 10",
            "ivan, acknowledged",
            "it responds again",
        ):
            assert part in page
        assert "<script>alert(1)" not in page

    def test_a_page_that_is_not_there(self, operator: Client) -> None:
        assert operator.get(f"{LIST}999/change/").status_code == 302


class TestActions:
    def test_acknowledge(self, operator: Client) -> None:
        alert = make_alert()
        assert "Acknowledge this alert?" in operator.get(f"{LIST}{alert.pk}/acknowledge/").content.decode()
        operator.post(f"{LIST}{alert.pk}/acknowledge/")
        alert.refresh_from_db()
        assert (alert.status, alert.acknowledged_by) == ("acknowledged", "staff:olga")

    @pytest.mark.parametrize("note", ["", "restarted it"])
    def test_resolve_with_or_without_a_note(self, operator: Client, note: str) -> None:
        alert = make_alert()
        operator.post(f"{LIST}{alert.pk}/resolve/", {"note": note})
        alert.refresh_from_db()
        assert (alert.status, alert.resolved_by, alert.resolution) == ("resolved", "staff:olga", note)

    def test_mute(self, operator: Client) -> None:
        alert = make_alert()
        operator.post(f"{LIST}{alert.pk}/mute/", {"length": "1h"})
        alert.refresh_from_db()
        assert 3500 < (alert.muted_until - timezone.now()).total_seconds() <= 3600
        assert "muted until" in operator.get(f"{LIST}{alert.pk}/change/").content.decode()

    @pytest.mark.parametrize("answers", [{}, {"length": "end"}, {"length": "until"}, {"length": "until", "until": "x"}])
    def test_mute_for_a_time_that_is_not_offered(self, operator: Client, answers: dict[str, str]) -> None:
        alert = make_alert()
        operator.post(f"{LIST}{alert.pk}/mute/", answers)
        alert.refresh_from_db()
        assert alert.muted_until is None

    def test_what_is_resolved_offers_nothing(self, operator: Client) -> None:
        alert = make_alert()
        mute_alert(alert.pk, "staff:ivan", 60)
        resolve_alert(alert.pk, "staff:ivan")
        page = operator.get(f"{LIST}{alert.pk}/change/").content.decode()
        assert f"{LIST}{alert.pk}/resolve/" not in page
        answer = operator.post(f"{LIST}{alert.pk}/acknowledge/", follow=True)
        assert answer.redirect_chain == [(f"{LIST}{alert.pk}/change/", 302)]
        assert "“Acknowledge” is not possible in the current state." in answer.content.decode()


class TestTestAlert:
    def test_says_who_is_told_then_raises_an_alert_of_its_own(self, operator: Client) -> None:
        two_rungs()
        question = operator.get(f"{LADDER}test-alert/").content.decode()
        assert all(words in question for words in ("Send a test alert?", "At once", "ops@example.org"))
        assert not Alert.objects.exists()
        page = operator.post(f"{LADDER}test-alert/", follow=True).content.decode()
        assert "The test alert is being sent." in page
        assert "Test alert by olga: nothing is wrong" in page
        escalate()
        assert Delivery.objects.get().endpoint.url == "mailto:ops@example.org"

    def test_there_is_one_until_it_is_resolved(self, operator: Client) -> None:
        operator.post(f"{LADDER}test-alert/")
        assert "no new one was sent" in operator.post(f"{LADDER}test-alert/", follow=True).content.decode()
        assert Alert.objects.get().count == 1
        resolve_alert(Alert.objects.get().pk, "staff:olga")
        operator.post(f"{LADDER}test-alert/")
        assert Alert.objects.count() == 2

    def test_is_not_for_viewers(self) -> None:
        viewer = signed_in("viewer")
        assert "test-alert" not in viewer.get(LADDER).content.decode()
        assert viewer.post(f"{LADDER}test-alert/").status_code == 403


class TestLadder:
    NEW = {"after_seconds": "1800", "channel": "sms", "addresses": "+375291234567", "active": "on"}

    def test_an_administrator_adds_changes_and_deletes_a_rung(self) -> None:
        two_rungs()
        administrator = signed_in("administrator")
        administrator.post(f"{LADDER}add/", self.NEW)
        rung = Rung.objects.get(after_seconds=1800)
        administrator.post(f"{LADDER}{rung.pk}/change/", {**self.NEW, "after_seconds": "3600"})
        rung.refresh_from_db()
        assert (rung.after_seconds, rung.addresses) == (3600, "+375291234567")
        administrator.post(f"{LADDER}{rung.pk}/delete/", {"post": "yes"})
        assert Rung.objects.count() == 2

    def test_a_rung_that_breaks_a_rule_is_shown_with_the_rule(self) -> None:
        administrator = signed_in("administrator")
        page = administrator.post(f"{LADDER}add/", {**self.NEW, "addresses": "a@example.org"}).content.decode()
        assert "Not a phone number: a@example.org" in page

    def test_the_list_says_when_and_whom(self, operator: Client, settings: Any) -> None:
        settings.ADMIN_PHONE = None
        two_rungs()
        Rung.objects.filter(channel="sms").update(to_administrator=True)
        page = operator.get(LADDER).content.decode()
        for part in ("at once", "after 10 minutes", "ops@example.org", "ADMIN_PHONE (not set)"):
            assert part in page

    def test_an_operator_cannot_change_it(self, operator: Client) -> None:
        assert operator.post(f"{LADDER}add/", self.NEW).status_code == 403
