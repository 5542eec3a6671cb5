from collections.abc import Callable
from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import override

from config.common import text_templates
from config.common.correlation import correlated
from config.records.models import ChangeRecord, LogEntry
from notifications.errors import AlertAcknowledged, AlertNotFound, AlertResolved
from notifications.models import Alert, Delivery, Event
from notifications.services.alerts import (
    acknowledge_alert,
    close_alert,
    mute_alert,
    raise_alert,
    resolve_alert,
)
from tests.notifications.alerts import (
    escalate,
    list_messages,
    make_alert,
    pass_time,
    reach_everybody,
    two_rungs,
)

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]

MAIL, SMS = "mailto:ops@example.org", "sms:+375291234567"


@pytest.fixture(autouse=True)
def _ladder(db: None) -> None:
    two_rungs()


class TestRaiseAlert:
    def test_writes_the_alert_and_its_event_under_the_id_of_the_call(self) -> None:
        with correlated("call-0001"):
            alert = make_alert()
        assert (alert.status, alert.count, alert.correlation_id) == ("open", 1, "call-0001")
        assert alert.words == "Redis does not answer"
        event = Event.objects.get(type="alert.raised")
        assert (event.subject, event.payload["about"]) == (f"alert/{alert.pk}", "engine/redis")

    def test_an_equal_one_is_counted_and_takes_the_newest_words(self) -> None:
        first, again = make_alert(), make_alert(since="noon")
        assert (again.pk, again.count, again.detail["since"]) == (first.pk, 2, "noon")
        assert again.last_at >= again.first_at == first.first_at
        assert Event.objects.filter(type="alert.raised").count() == 1

    def test_another_subject_is_another_alert(self) -> None:
        assert make_alert(subject="engine/redis").pk != make_alert(subject="engine/amqp").pk

    def test_goes_with_the_transaction_of_the_fact(self) -> None:
        with transaction.atomic():
            make_alert()
            transaction.set_rollback(True)
        assert not Alert.objects.exists()

    def test_what_was_resolved_is_raised_anew(self) -> None:
        first = make_alert()
        resolve_alert(first.pk, "staff:olga")
        assert make_alert().pk != first.pk

    def test_a_title_is_one_line(self) -> None:
        raise_alert("k", "s", "first\r\nBcc: everyone\tx" + "y" * 500)
        title = Alert.objects.get().title
        assert title.startswith("first Bcc: everyone x")
        assert len(title) == 300

    def test_a_repeat_costs_one_statement(self, django_assert_max_num_queries: Any) -> None:
        make_alert()
        with django_assert_max_num_queries(3):  # with the savepoint
            raise_alert("engine.down", "engine/redis", "x")

    def test_two_open_ones_of_a_subject_cannot_exist(self) -> None:
        make_alert()
        with pytest.raises(IntegrityError), transaction.atomic():
            Alert.objects.create(kind="engine.down", subject="engine/redis", title="x")

    def test_speaks_the_language_of_the_reader(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(text_templates, "gettext", lambda text: text.replace("does not answer", "не отвечает"))
        assert make_alert().words == "Redis не отвечает"


class TestLog:
    def logged(self) -> list[tuple[str, str]]:
        return [(entry.level, entry.words) for entry in LogEntry.objects.filter(kind="alert").order_by("id")]

    def test_a_new_alert_is_one_entry_and_its_repeats_are_none(self) -> None:
        with correlated("call-0001"):
            alert = make_alert()
        make_alert()
        entry = LogEntry.objects.get()
        assert (entry.subject, entry.correlation_id) == (f"alert/{alert.pk}", "call-0001")
        assert self.logged() == [("error", "Redis does not answer")]

    def test_one_that_heals_is_another(self) -> None:
        make_alert()
        close_alert("engine.down", "engine/redis", "it responds again")
        close_alert("engine.down", "engine/redis", "it responds again")
        assert self.logged()[1:] == [("info", "Closed: Redis does not answer. it responds again")]

    def test_one_that_is_resolved_names_who_did_it(self) -> None:
        resolve_alert(make_alert().pk, "staff:olga")
        assert self.logged()[1:] == [("info", "Resolved by olga: Redis does not answer.")]

    def test_goes_with_the_transaction_of_the_alert(self) -> None:
        with transaction.atomic():
            make_alert()
            transaction.set_rollback(True)
        assert self.logged() == []


@pytest.mark.django_db(transaction=True)
def test_eight_that_raise_at_once_are_one_alert(in_threads: Callable[..., list[int]]) -> None:
    ids = in_threads(lambda _: [raise_alert("k", "s", "t") for _ in range(5)][-1], 8)
    assert len(set(ids)) == 1
    assert Alert.objects.get().count == 40
    assert Event.objects.filter(type="alert.raised").count() == 1
    assert LogEntry.objects.count() == 1


class TestCloseAlert:
    def test_closes_and_says_so_to_those_who_were_told(self) -> None:
        alert = make_alert()
        escalate()
        reach_everybody()
        close_alert("engine.down", "engine/redis", "answers again")
        alert.refresh_from_db()
        assert (alert.status, alert.resolved_by, alert.resolution) == ("resolved", "", "answers again")
        assert list_messages() == [("alert.raised", MAIL), ("alert.closed", MAIL)]
        assert Delivery.objects.get(type="alert.closed").body["note"] == "answers again"
        assert Event.objects.filter(type="alert.resolved", subject=f"alert/{alert.pk}").exists()

    def test_tells_everyone_once_whom_the_ladder_reached(self) -> None:
        make_alert()
        escalate()
        pass_time(601)
        escalate()
        reach_everybody()
        close_alert("engine.down", "engine/redis")
        assert list_messages()[2:] == [("alert.closed", MAIL), ("alert.closed", SMS)]

    def test_before_anyone_was_told_nobody_is(self) -> None:
        make_alert()
        close_alert("engine.down", "engine/redis")
        escalate()
        assert list_messages() == []

    def test_closes_what_was_acknowledged_too(self) -> None:
        acknowledge_alert(make_alert().pk, "staff:olga")
        close_alert("engine.down", "engine/redis")
        assert Alert.objects.get().status == "resolved"

    def test_without_an_alert_nothing_happens(self) -> None:
        close_alert("engine.down", "engine/redis")
        assert not Event.objects.exists()

    @pytest.mark.django_db(transaction=True)
    def test_of_eight_at_once_one_closes_it(self, in_threads: Callable[..., list[None]]) -> None:
        make_alert()
        in_threads(lambda _: close_alert("engine.down", "engine/redis"), 8)
        assert Event.objects.filter(type="alert.resolved").count() == 1

    def test_a_muted_one_closes_quietly(self) -> None:
        alert = make_alert()
        escalate()
        mute_alert(alert.pk, "staff:olga", 3600)
        close_alert("engine.down", "engine/redis")
        assert list_messages() == [("alert.raised", MAIL)]


class TestAcknowledge:
    def test_keeps_who_and_when_and_the_change(self) -> None:
        alert = make_alert()
        acknowledge_alert(alert.pk, "staff:olga")
        alert.refresh_from_db()
        assert (alert.status, alert.acknowledged_by, alert.due_at) == ("acknowledged", "staff:olga", None)
        change = ChangeRecord.objects.get(kind="alert", object_id=str(alert.pk))
        assert (change.actor, change.before["status"], change.after["status"]) == ("staff:olga", "open", "acknowledged")
        assert Event.objects.get(type="alert.acknowledged").payload["by"] == "staff:olga"

    def test_a_second_time_is_refused_and_names_the_first(self) -> None:
        alert = make_alert()
        acknowledge_alert(alert.pk, "staff:olga")
        with pytest.raises(AlertAcknowledged) as refused:
            acknowledge_alert(alert.pk, "staff:ivan")
        assert refused.value.data == {"acknowledged_by": "staff:olga"}

    @pytest.mark.django_db(transaction=True)
    def test_of_eight_at_once_one_has_it(self, in_threads: Callable[..., list[bool]]) -> None:
        alert = make_alert()

        def take_on(number: int) -> bool:
            try:
                acknowledge_alert(alert.pk, f"staff:{number}")
            except AlertAcknowledged:
                return False
            return True

        assert sorted(in_threads(take_on, 8)) == [False] * 7 + [True]

    def test_repeats_are_counted_without_calling_anyone(self) -> None:
        acknowledge_alert(make_alert().pk, "staff:olga")
        assert make_alert().count == 2
        escalate()
        assert list_messages() == []

    @pytest.mark.parametrize("unknown", [0, 999, 2**63])
    def test_what_is_not_there_is_not_found(self, unknown: int) -> None:
        with pytest.raises(AlertNotFound):
            acknowledge_alert(unknown, "staff:olga")


class TestResolve:
    def test_keeps_who_and_why(self) -> None:
        alert = make_alert()
        resolve_alert(alert.pk, "staff:olga", "restarted\nit")
        alert.refresh_from_db()
        assert (alert.status, alert.resolved_by, alert.resolution) == ("resolved", "staff:olga", "restarted it")
        assert ChangeRecord.objects.get(kind="alert").after["resolution"] == "restarted it"

    @pytest.mark.parametrize("act", [acknowledge_alert, resolve_alert, lambda pk, actor: mute_alert(pk, actor, 60)])
    def test_nothing_can_be_done_about_it_any_more(self, act: Callable[[int, str], None]) -> None:
        alert = make_alert()
        resolve_alert(alert.pk, "staff:olga")
        with pytest.raises(AlertResolved):
            act(alert.pk, "staff:olga")


class TestMute:
    def test_tells_nobody_until_the_time_is_over_then_climbs_on(self) -> None:
        alert = make_alert()
        mute_alert(alert.pk, "staff:olga", 3600)
        escalate()
        assert list_messages() == []
        pass_time(3601)
        escalate()
        assert list_messages() == [("alert.raised", MAIL), ("alert.raised", SMS)]

    def test_holds_for_what_is_raised_again_meanwhile(self) -> None:
        mute_alert(make_alert().pk, "staff:olga", 3600)
        close_alert("engine.down", "engine/redis")
        again = make_alert()
        escalate()
        assert again.muted_until > timezone.now()
        assert list_messages() == []

    def test_is_kept_as_a_change_and_an_event(self) -> None:
        mute_alert(make_alert().pk, "staff:olga", 60)
        assert ChangeRecord.objects.get(kind="alert").after["muted_until"].endswith("Z")
        assert Event.objects.get(type="alert.muted").payload["by"] == "staff:olga"


class TestFill:
    def test_a_detail_that_is_missing_or_odd_harms_nothing(self) -> None:
        assert text_templates.render_text("100% of %(a)s, %(b)s", {"a": "<\n%(b)s>"}) == "100% of < %(b)s>, –"

    def test_an_empty_text_stays_empty(self) -> None:
        with override("ru"):
            assert text_templates.render_text("", {}) == ""
