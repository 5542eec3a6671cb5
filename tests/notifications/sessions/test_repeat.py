"""One repeat: operations one by one, each answered; and what becomes of the session."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import OperationalError

from config.common.correlation import correlated
from notifications.errors import SessionCode
from notifications.models import Alert, Event, RepeatSession, SessionRecord, SessionStep
from notifications.sessions import repeat as repeat_module
from notifications.sessions.claims import claim_due
from notifications.sessions.enqueue import enqueue_session
from notifications.sessions.handlers import SessionView
from notifications.sessions.lifecycle import append_records, create_session, delete_session
from notifications.sessions.operations import Append, Delete, Finish, Operation, RefuseReason, Rewrite
from notifications.sessions.operator_actions import revive_sessions
from notifications.sessions.outcomes import settle_lapsed_once
from notifications.sessions.presentation import present_with_timelines
from notifications.sessions.repeat import Repeat, settle_now
from notifications.sessions.storage import read_records
from tests.notifications.sessions.themes import Scripted, pass_time, repeat_due, theme

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]

Handle = Callable[[Any], None]


def due(*records: Any, **values: Any) -> RepeatSession:
    theme(**values)
    return RepeatSession.objects.get(pk=enqueue_session(theme=7, records=list(records), delay=0))


def timeline(session: RepeatSession) -> list[tuple[str, list[Any]]]:
    [shown] = present_with_timelines([session])
    return [(step["what"], step["verdicts"]) for step in shown["timeline"]]


class TestSuccess:
    @pytest.mark.parametrize("script", [(Delete(),), (), (None,), (Append([2]), Delete())])
    def test_deletes_the_session_with_all_that_belongs_to_it(self, handle: Handle, script: Any) -> None:
        session = due(1)
        handle(Scripted(*script))
        assert repeat_due() == [session.pk]
        assert not RepeatSession.objects.exists()
        assert not SessionRecord.objects.exists()
        assert not SessionStep.objects.exists()

    def test_a_function_sees_the_session_and_succeeds_by_returning(self, handle_by: Handle) -> None:
        seen: list[SessionView] = []
        session = due({"a": 1}, [2])
        handle_by(seen.append)
        repeat_due()
        assert [(view.id, view.theme, view.records, view.repeats) for view in seen] == [
            (session.pk, 7, [{"a": 1}, [2]], 0)
        ]
        assert seen[0].fence == session.change + 1
        assert not RepeatSession.objects.exists()


class TestFailure:
    @pytest.mark.parametrize("script", [(Finish(),), (ValueError("no"),), (Append([2]), Finish())])
    def test_saves_it_again_after_the_themes_delay(self, handle: Handle, script: Any) -> None:
        session = due(1, delay=100, jitter=10)
        handle(Scripted(*script))
        repeat_due()
        session.refresh_from_db()
        assert (session.status, session.repeats, session.is_repeating) == ("saved", 1, False)
        pass_time(99)
        assert repeat_due() == []
        pass_time(11)
        assert repeat_due() == [session.pk]

    def test_the_reason_is_in_the_timeline(self, handle_by: Handle) -> None:
        session = due(1)
        handle_by(lambda view: 1 / 0)
        repeat_due()
        assert timeline(session) == [("created", []), ("failed: ZeroDivisionError: division by zero", [])]

    def test_a_reason_that_no_database_keeps_is_cleaned(self, handle_by: Handle) -> None:
        session = due(1, repeat_limit=1)
        handle_by(lambda view: int("\0\udcff"))
        repeat_due()
        reason, verdicts = timeline(session)[-2]
        assert reason.startswith("failed: ValueError: invalid literal")
        session.refresh_from_db()
        assert (session.status, verdicts) == ("exhausted", [])

    def test_a_handler_that_is_not_registered_is_a_failure(self) -> None:
        session = due(1, handler="elsewhere")
        repeat_due()
        assert timeline(session)[-1][0] == "failed: LookupError: no handler is registered as elsewhere"

    def test_a_handler_without_end_is_a_failure(self, handle: Handle, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(repeat_module, "MOST_OPERATIONS", 5)
        session = due(1)
        handle(Scripted(*(Rewrite([n]) for n in range(9))))
        repeat_due()
        session.refresh_from_db()
        assert (session.status, session.repeats, read_records([session.pk])[session.pk]) == ("saved", 1, [4])

    def test_what_is_no_operation_is_a_failure(self, handle: Handle) -> None:
        session = due(1)
        handle(Scripted(Operation()))
        repeat_due()
        assert timeline(session)[-1][0].startswith("failed: TypeError")


class TestOperations:
    def test_each_is_acknowledged_and_kept_also_when_the_repeat_fails(self, handle: Handle) -> None:
        session = due(1)
        operations = [Append([2]), Append([3, 4]), Finish()]
        handle(Scripted(*operations))
        repeat_due()
        assert read_records([session.pk])[session.pk] == [1, 2, 3, 4]
        acknowledged = {"status": "acknowledged", "reason": "", "session_code": 200}
        assert [operation.verdict for operation in operations] == [
            {"op": "append", **acknowledged},
            {"op": "append", **acknowledged},
            {"op": "finish", **acknowledged},
        ]
        assert timeline(session)[-1][1] == [{"op": "append", **acknowledged}] * 2

    def test_too_long_is_refused_and_the_exchange_goes_on(self, handle: Handle) -> None:
        session = due(1, length_limit=10)
        operations = [Append(["x" * 20]), Rewrite([5]), Append([6]), Finish()]
        handle(Scripted(*operations))
        repeat_due()
        assert operations[0].verdict["session_code"] == SessionCode.TOO_LONG
        assert operations[0].verdict["status"] == "refused"
        assert read_records([session.pk])[session.pk] == [5, 6]

    def test_what_is_not_json_is_refused_as_invalid(self, handle: Handle) -> None:
        refused: list[RefuseReason] = []

        class Mine(Append):
            def refuse(self, reason: RefuseReason) -> None:
                refused.append(reason)

        due(1)
        handle(Scripted(Mine([object()]), Delete()))
        repeat_due()
        assert [reason.session_code for reason in refused] == [4000]
        assert "JSON" in str(refused[0])
        assert not RepeatSession.objects.exists()

    def test_a_failure_of_the_database_is_refused_as_internal(
        self, handle: Handle, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def fail(*args: Any, **values: Any) -> None:
            raise OperationalError

        session = due(1)
        operation = Append([2])
        monkeypatch.setattr(repeat_module, "finish", fail)
        handle(Scripted(operation, Delete()))
        repeat_due()
        assert (operation.verdict["status"], operation.verdict["session_code"]) == ("refused", 1000)
        assert not RepeatSession.objects.filter(pk=session.pk).exists()


class TestFence:
    def claim(self) -> Repeat:
        return Repeat(claim_due(1)[0])

    @pytest.mark.parametrize("script", [(Delete(),), (Finish(),), (Append([2]), Delete()), ()])
    def test_a_worker_that_is_late_writes_nothing(self, handle: Handle, script: Any) -> None:
        session = due(1)
        handle(Scripted(*script))
        late = self.claim()
        pass_time(60)
        settle_lapsed_once()
        before = RepeatSession.objects.values().get()
        late.run(settle_now)
        assert RepeatSession.objects.values().get() == before
        assert (before["status"], before["repeats"]) == ("saved", 1)
        assert read_records([session.pk])[session.pk] == [1]

    def test_its_operation_is_cancelled(self, handle: Handle) -> None:
        due(1)
        operation = Append([2])
        handle(Scripted(operation, Delete()))
        late = self.claim()
        RepeatSession.objects.update(change=9)
        late.run(settle_now)
        assert operation.verdict["status"] == "cancelled"
        assert RepeatSession.objects.get().status == "active"

    def test_a_delete_that_came_late_is_cancelled_not_acknowledged(self, handle: Handle) -> None:
        due(1)
        operation = Delete()
        handle(Scripted(operation))
        late = self.claim()
        RepeatSession.objects.update(change=9)
        late.run(settle_now)
        assert operation.verdict["status"] == "cancelled"

    def test_a_caller_that_writes_takes_the_session_over(self, handle_by: Handle) -> None:
        session = due(1)
        repeat = self.claim()
        append_records(session_id=session.pk, change=repeat.claim.fence, records=[2])
        repeat.run(settle_now)
        session.refresh_from_db()
        assert (session.status, session.is_repeating) == ("active", False)
        assert read_records([session.pk])[session.pk] == [1, 2], "what the handler has not seen is not deleted"

    def test_a_deleted_session_stays_deleted(self, handle: Handle) -> None:
        session = due(1)
        handle(Scripted(Append([2]), Finish()))
        repeat = self.claim()
        delete_session(session_id=session.pk)
        repeat.run(settle_now)
        assert not RepeatSession.objects.exists()
        assert not SessionRecord.objects.exists()


class TestLapse:
    def test_a_session_that_nobody_touched_is_saved_with_the_themes_delay(self) -> None:
        theme(timeout=5, delay=20)
        session_id = create_session(theme=7, records=[1])
        pass_time(4)
        assert repeat_due() == []
        assert RepeatSession.objects.get().status == "active"
        pass_time(2)
        repeat_due()
        session = RepeatSession.objects.get(pk=session_id)
        assert (session.status, session.repeats, timeline(session)[-1][0]) == ("saved", 0, "lapsed")
        pass_time(21)
        assert repeat_due() == [session_id]

    def test_a_touch_gives_it_its_time_again(self) -> None:
        theme(timeout=5)
        session_id = create_session(theme=7, records=[1])
        pass_time(4)
        append_records(session_id=session_id, change=1, records=[2])
        pass_time(4)
        repeat_due()
        assert RepeatSession.objects.get().status == "active"

    def test_a_repeat_whose_worker_died_counts_as_failed(self) -> None:
        session = due(1, delay=20, repeat_limit=2)
        for repeats in (1, 2):
            assert len(claim_due(1)) == 1
            pass_time(31)
            settle_lapsed_once()
            session.refresh_from_db()
            assert session.repeats == repeats
            pass_time(21)
        assert (session.status, timeline(session)[-2:]) == ("exhausted", [("died", []), ("exhausted", [])])


class TestExhaustion:
    def exhaust(self, handle_by: Handle, count: int = 1) -> list[int]:
        theme(repeat_limit=2, delay=0)
        with correlated("the-chain"):
            ids = [enqueue_session(theme=7, records=[n], delay=0) for n in range(count)]
        handle_by(lambda view: 1 / 0)
        repeat_due()
        assert RepeatSession.objects.filter(status="saved").count() == count
        repeat_due()
        return ids

    def test_the_nth_failure_raises_an_alert_and_an_event(self, handle_by: Handle) -> None:
        [session_id] = self.exhaust(handle_by)
        session = RepeatSession.objects.get()
        assert (session.status, session.repeats, session.due_at) == ("exhausted", 2, None)
        alert = Alert.objects.get()
        assert (alert.kind, alert.subject, alert.status) == ("session.exhausted", "theme/7", "open")
        assert alert.words == "Sessions of theme 7 have used up all their attempts"
        event = Event.objects.get(type="session.exhausted")
        assert (event.subject, event.payload["theme"], event.payload["repeats"]) == (f"session/{session_id}", 7, 2)
        assert event.correlation_id == alert.correlation_id == "the-chain"

    def test_many_of_a_theme_are_one_alert_that_ends_with_the_last_of_them(self, handle_by: Handle) -> None:
        first, second = self.exhaust(handle_by, 2)
        assert Alert.objects.get().count == 2
        assert Event.objects.filter(type="session.exhausted").count() == 2
        delete_session(session_id=first)
        assert Alert.objects.get().status == "open"
        assert revive_sessions(session_ids=[second], actor="staff:olga") == 1
        assert Alert.objects.get().status == "resolved"

    def test_a_revived_one_begins_anew(self, handle_by: Handle) -> None:
        [session_id] = self.exhaust(handle_by)
        revive_sessions(session_ids=[session_id], actor="staff:olga")
        session = RepeatSession.objects.get()
        assert (session.status, session.repeats, timeline(session)[-1][0]) == ("saved", 0, "revived: staff:olga")
        assert repeat_due() == [session_id]
        assert RepeatSession.objects.get().repeats == 1


class TestTimeline:
    @pytest.mark.slow
    def test_the_oldest_lines_of_a_session_that_goes_on_and_on_are_forgotten(self, handle_by: Handle) -> None:
        session = due(1, delay=0, repeat_limit=1000)
        handle_by(lambda view: 1 / 0)
        for _ in range(140):
            pass_time(1)
            repeat_due()
        assert RepeatSession.objects.get().repeats == 140
        assert 100 <= SessionStep.objects.filter(session=session).count() < 130
        assert len(timeline(session)) == 101


class TestOrder:
    def test_by_time_then_by_saving(self) -> None:
        theme()
        ids = {
            name: enqueue_session(theme=7, records=[name], delay=delay)
            for name, delay in zip("dacb", (30, 10, 20, 10), strict=True)
        }
        tie = RepeatSession.objects.get(pk=ids["a"]).due_at
        RepeatSession.objects.filter(pk=ids["b"]).update(due_at=tie)
        pass_time(60)
        assert repeat_due() == [ids[name] for name in "abcd"]
