from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from config.records.models import ChangeRecord
from notifications.models import Alert, RepeatSession
from notifications.sessions import operator_actions
from notifications.sessions.claims import claim_due
from notifications.sessions.enqueue import enqueue_session, enqueue_sessions
from notifications.sessions.lifecycle import create_session, save_session
from notifications.sessions.operations import Finish
from notifications.sessions.operator_actions import shift_sessions
from tests.notifications.admin.sessions.session_pages import (
    DAY,
    HOUR,
    LIST,
    address,
    confirmed,
    due_in,
    exhausted,
    many,
)
from tests.notifications.sessions.themes import Scripted, repeat_due, theme

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]

QUERIES = 12


def listed(browser: Client, **query: str) -> list[int]:
    return [row.pk for row in browser.get(LIST, query).context["cl"].result_list]


class TestList:
    def test_says_which_how_it_fares_and_when_it_is_next(self, operator: Client) -> None:
        theme(url="https://partner.example/repeat")
        session_id = enqueue_session(theme=7, records=[{"order": 1}], delay=3 * HOUR + 60)
        page = operator.get(LIST).content.decode()
        assert f'>{session_id}<div class="pst-quiet">theme 7 · partner.example</div>' in page
        for part in ("saved", "in 3\xa0hours", "0 of 10", "1 · 13\xa0bytes"):
            assert part in page

    @pytest.mark.parametrize(
        ("values", "words"),
        [
            ({"status": "active"}, "saved automatically in 1\xa0minute"),
            ({"status": "active", "is_repeating": True}, "in progress"),
            ({"due_at": -2 * HOUR}, "overdue by 2\xa0hours"),
            ({"due_at": -5}, ">now<"),
            ({"status": "exhausted", "due_at": None}, "manually only"),
        ],
    )
    def test_says_what_it_waits_for(self, operator: Client, values: dict[str, Any], words: str) -> None:
        theme()
        enqueue_session(theme=7, records=[], delay=90)
        seconds = values.get("due_at", 90)
        due_at = None if seconds is None else timezone.now() + timedelta(seconds=seconds)
        RepeatSession.objects.update(**{**values, "due_at": due_at})
        assert words in operator.get(LIST).content.decode()

    @pytest.mark.parametrize("year", [1, 9999])
    def test_any_time_that_a_caller_may_name_can_be_shown(self, operator: Client, year: int, settings: Any) -> None:
        settings.TIME_ZONE = "Asia/Kamchatka" if year == 9999 else "America/Lima"
        theme()
        session_id = enqueue_session(theme=7, records=[])
        end = datetime.max if year == 9999 else datetime.min
        save_session(session_id=session_id, change=1, repeat_at=end.replace(microsecond=0, tzinfo=UTC))
        assert operator.get(LIST).status_code == 200
        assert operator.get(address(session_id)).status_code == 200

    def test_is_narrowed_by_theme_status_and_time(self, operator: Client, handle: Any) -> None:
        theme()
        theme(8)
        handle(Scripted(Finish()))
        spent = exhausted()
        later, soon, day = (enqueue_session(theme=7, records=[], delay=delay) for delay in (2 * DAY, 60, 2 * HOUR))
        overdue, active = enqueue_session(theme=8, records=[], delay=-600), create_session(theme=8, records=[])
        assert listed(operator) == [active, overdue, day, soon, later, spent]
        assert listed(operator, status="exhausted") == [spent]
        assert listed(operator, status="saved") == [overdue, soon, day, later]
        assert listed(operator, theme="8") == [active, overdue]
        assert listed(operator, due="overdue") == [overdue]
        assert listed(operator, due="hour") == [soon]
        assert listed(operator, due="day") == [soon, day]
        assert listed(operator, due="later") == [later]
        assert listed(operator, due="day", theme="8") == []

    @pytest.mark.parametrize("wrong", [{"theme": "x"}, {"theme": "9" * 10}, {"theme": "٣"}])
    def test_a_theme_that_cannot_be_has_none(self, operator: Client, wrong: dict[str, str]) -> None:
        theme()
        enqueue_session(theme=7, records=[])
        assert listed(operator, **wrong) == []

    def test_finds_by_number_theme_and_chain(self, operator: Client) -> None:
        theme()
        first, second = enqueue_sessions(theme=7, sessions=[[1], [2]])
        RepeatSession.objects.filter(pk=second).update(correlation_id="the-chain")
        assert [listed(operator, q=text) for text in (str(first), f"7/{first}", f"session/{first}")] == [[first]] * 3
        assert listed(operator, q="theme/7") == [second, first]
        assert listed(operator, q="the-chain") == [second]
        assert listed(operator, q="9" * 30) == []

    def test_costs_the_same_for_many(self, operator: Client, django_assert_num_queries: Any) -> None:
        theme()
        theme(8)

        def queries_of(count: int) -> int:
            enqueue_sessions(theme=7, sessions=[[1]] * count)
            enqueue_sessions(theme=8, sessions=[[1]] * count)
            with django_assert_num_queries(QUERIES):
                return len(listed(operator))

        operator.get(LIST)
        assert (queries_of(1), queries_of(20)) == (2, 42)

    def test_shows_nothing_to_who_may_not_see_sessions(self) -> None:
        browser = Client()
        browser.force_login(User.objects.create_user("ivan", is_staff=True))
        assert browser.get(LIST).status_code == 403


class TestLoad:
    def test_counts_what_is_due_in_each_quarter_of_an_hour(self, operator: Client, handle: Any) -> None:
        theme()
        handle(Scripted(Finish()))
        exhausted()
        for delay in (-60, 60, 120, 20 * 60, 5.9 * HOUR, 7 * HOUR):
            enqueue_session(theme=7, records=[], delay=delay)
        create_session(theme=7, records=[])
        load = operator.get(LIST).context["load"]
        assert (load.overdue, load.soon, load.later, load.exhausted) == ("1", "4", "1", "1")
        assert [(bar.count, bar.left, bar.height) for bar in load.bars] == [
            ("2", 4.17, 120.0),
            ("1", 45.83, 60.0),
            ("1", 962.5, 60.0),
        ]

    def test_says_in_words_what_it_draws(self, operator: Client) -> None:
        theme()
        enqueue_sessions(theme=7, sessions=[[1], [2]], delay=60)
        page = operator.get(LIST)
        bar = page.context["load"].bars[0]
        assert f'aria-label="Sessions due in the next few hours. Peak: 2, {bar.period}."' in page.content.decode()
        assert f"<td>{bar.period}</td><td>2</td>" in page.content.decode()

    def test_an_empty_one_says_so(self, operator: Client) -> None:
        assert 'aria-label="Nothing is due in the next few hours."' in operator.get(LIST).content.decode()

    def test_a_count_ends_where_it_would_become_dear(self, operator: Client, monkeypatch: pytest.MonkeyPatch) -> None:
        for module in ("sessions.backlog", "admin.session_chart"):
            monkeypatch.setattr(f"notifications.{module}.MOST_COUNTED", 3)
        theme()
        enqueue_sessions(theme=7, sessions=[[1]] * 5, delay=60)
        load = operator.get(LIST).context["load"]
        assert (load.highest, load.soon) == ("3+", "3+")


class TestRepeatMany:
    def test_asks_first_and_then_lets_them_be_due(self, operator: Client) -> None:
        theme()
        ids = enqueue_sessions(theme=7, sessions=[[1], [2]], delay=HOUR)
        asked = operator.post(LIST, many("repeat_chosen", ids)).content.decode()
        assert "Retry these sessions now?" in asked
        assert "2 sessions:" in asked
        assert [f"<li>{pk} · theme 7 · " in asked for pk in ids] == [True, True]
        assert due_in(ids[0]) == 60
        page = operator.post(LIST, confirmed("repeat_chosen", ids), follow=True).content.decode()
        assert "2 sessions are due now." in page
        assert repeat_due() == ids

    def test_one_that_a_worker_has_meanwhile_is_left_out(self, operator: Client) -> None:
        theme()
        ids = enqueue_sessions(theme=7, sessions=[[1], [2]], delay=0)
        [claim] = claim_due(1)
        page = operator.post(LIST, confirmed("repeat_chosen", ids), follow=True).content.decode()
        assert "1 session is due now." in page
        assert "1 skipped" in page
        assert RepeatSession.objects.get(pk=ids[0]).change == claim.fence

    def test_all_of_a_list_without_naming_them(self, operator: Client) -> None:
        theme()
        theme(8)
        ids = enqueue_sessions(theme=7, sessions=[[1]] * 60, delay=HOUR)
        enqueue_session(theme=8, records=[])
        chosen = many("repeat_chosen", ids[:1], select_across="1")
        asked = operator.post(f"{LIST}?theme=7", chosen)
        assert asked.context["count"] == 60
        numbers = asked.context["form"]["keys"].value()
        operator.post(f"{LIST}?theme=7", many("repeat_chosen", ids[:1], confirmed="yes", keys=numbers))
        assert repeat_due() == ids

    def test_too_many_are_refused_before_anything_is_done(
        self, operator: Client, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("notifications.admin.sessions.MOST_DELETED_AT_ONCE", 1)
        theme()
        ids = enqueue_sessions(theme=7, sessions=[[1], [2]])
        page = operator.post(LIST, many("delete_chosen", ids), follow=True).content.decode()
        assert "At most 1 sessions at a time" in page
        assert RepeatSession.objects.count() == 2

    def test_so_many_are_acted_on_and_not_one_more(self, operator: Client, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("notifications.admin.session_forms.MOST_AT_ONCE", 1)
        theme()
        ids = enqueue_sessions(theme=7, sessions=[[1], [2]], delay=HOUR)
        for chosen, due in ((ids, []), (ids[:1], ids[:1])):
            numbers = ",".join(map(str, chosen))
            operator.post(LIST, many("repeat_chosen", chosen, confirmed="yes", keys=numbers))
            assert repeat_due() == due

    @pytest.mark.parametrize("numbers", ["x", "", "1,,2", "٣"])
    def test_what_is_no_list_of_sessions_is_refused(self, operator: Client, numbers: str) -> None:
        sent = many("delete_chosen", [1], confirmed="yes", keys=numbers)
        assert operator.post(LIST, sent).context["form"].errors


class TestShiftMany:
    def answers(self, **values: Any) -> dict[str, Any]:
        return {"direction": "1", "amount": "30", "unit": "60", "form_id": str(uuid4()), **values}

    def test_moves_each_from_where_it_stands(self, operator: Client) -> None:
        theme()
        one, two = (
            enqueue_session(theme=7, records=[], delay=HOUR),
            enqueue_session(theme=7, records=[], delay=2 * HOUR),
        )
        sent = confirmed("shift_chosen", [one, two], **self.answers())
        page = operator.post(LIST, sent, follow=True).content.decode()
        assert "2 sessions rescheduled." in page
        assert (due_in(one), due_in(two)) == (90, 150)

    def test_earlier_too(self, operator: Client) -> None:
        theme()
        session_id = enqueue_session(theme=7, records=[], delay=3 * HOUR)
        operator.post(LIST, confirmed("shift_chosen", [session_id], **self.answers(direction="-1", unit="60")))
        assert due_in(session_id) == 150

    def test_a_form_that_is_sent_twice_moves_once(self, operator: Client) -> None:
        theme()
        session_id = enqueue_session(theme=7, records=[], delay=HOUR)
        sent = confirmed("shift_chosen", [session_id], **self.answers())
        operator.post(LIST, sent)
        assert "rescheduled once, not twice" in operator.post(LIST, sent, follow=True).content.decode()
        assert due_in(session_id) == 90

    def test_a_form_that_died_half_way_goes_on_where_it_was(
        self, operator: Client, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        theme()
        monkeypatch.setattr(operator_actions, "BATCH", 2)
        ids = enqueue_sessions(theme=7, sessions=[[1]] * 5, delay=HOUR)
        sent = confirmed("shift_chosen", ids, **self.answers())
        with monkeypatch.context() as patch:
            patch.setattr(operator_actions, "shift_sessions", _dying_after(1))
            with pytest.raises(InterruptedError):
                operator.post(LIST, sent)
        assert [due_in(pk) for pk in ids] == [90, 90, 60, 60, 60]
        operator.post(LIST, sent)
        assert [due_in(pk) for pk in ids] == [90] * 5

    def test_one_that_started_meanwhile_is_left_alone(self, operator: Client) -> None:
        theme()
        session_id = enqueue_session(theme=7, records=[], delay=0)
        asked = operator.post(LIST, many("shift_chosen", [session_id]))
        [claim] = claim_due(1)
        numbers = asked.context["form"]["keys"].value()
        sent = many("shift_chosen", [session_id], confirmed="yes", **self.answers(keys=numbers))
        page = operator.post(LIST, sent, follow=True).content.decode()
        assert "0 sessions rescheduled." in page
        assert RepeatSession.objects.get().change == claim.fence

    @pytest.mark.parametrize("wrong", [{"amount": "0"}, {"amount": "x"}, {"amount": "367", "unit": "86400"}])
    def test_a_wrong_delay_is_told_at_its_field(self, operator: Client, wrong: dict[str, str]) -> None:
        theme()
        session_id = enqueue_session(theme=7, records=[], delay=HOUR)
        page = operator.post(LIST, confirmed("shift_chosen", [session_id], **self.answers(**wrong)))
        assert "amount" in page.context["form"].errors
        assert page.context["count"] == 1
        assert due_in(session_id) == 60

    def test_nothing_is_moved_to_where_no_time_is(self, operator: Client) -> None:
        theme()
        session_id = enqueue_session(theme=7, records=[])
        last = timezone.now().replace(year=9999)
        save_session(session_id=session_id, change=1, repeat_at=last)
        operator.post(LIST, confirmed("shift_chosen", [session_id], **self.answers(amount="366", unit="86400")))
        assert RepeatSession.objects.get().due_at.year == 9999


class TestReviveAndDeleteMany:
    def test_exhausted_ones_begin_anew_and_their_alert_ends(self, operator: Client, handle: Any) -> None:
        theme()
        handle(Scripted(Finish(), Finish()))
        ids = [exhausted(), exhausted()]
        assert Alert.objects.get().status == "open"
        page = operator.post(LIST, confirmed("revive_chosen", ids), follow=True).content.decode()
        assert "2 sessions restarted." in page
        assert set(RepeatSession.objects.values_list("status", "repeats")) == {("saved", 0)}
        assert Alert.objects.get().status == "resolved"

    def test_deleted_ones_are_told_in_the_change_log(self, operator: Client) -> None:
        theme()
        ids = enqueue_sessions(theme=7, sessions=[[1], [2], [3]])
        page = operator.post(LIST, confirmed("delete_chosen", [*ids[:2], 99_999]), follow=True).content.decode()
        assert "2 sessions deleted." in page
        assert "1 skipped" in page
        assert RepeatSession.objects.get().pk == ids[2]
        told = ChangeRecord.objects.filter(kind="session", action="deleted", actor="staff:olga")
        assert sorted(told.values_list("object_id", flat=True)) == sorted(map(str, ids[:2]))


def _dying_after(times: int) -> Any:
    """Return a shift that works so many times, and then ends the process."""
    left = iter(range(times))

    def shift(**asked: Any) -> int:
        if next(left, None) is None:
            raise InterruptedError
        return shift_sessions(**asked)

    return shift
