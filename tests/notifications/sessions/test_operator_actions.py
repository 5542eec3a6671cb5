import pytest

from notifications.models import RepeatSession
from notifications.sessions.claims import claim_due
from notifications.sessions.enqueue import enqueue_session, enqueue_sessions
from notifications.sessions.operator_actions import repeat_now, revive_sessions, shift_sessions
from notifications.sessions.presentation import present_with_timelines
from tests.notifications.sessions.themes import pass_time, repeat_due, theme

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]


def last_step(session_id: int) -> str:
    [shown] = present_with_timelines([RepeatSession.objects.get(pk=session_id)])
    return str(shown["timeline"][-1]["what"])


class TestRepeatNow:
    def test_saved_sessions_are_due_at_once_in_their_order(self) -> None:
        theme()
        ids = enqueue_sessions(theme=7, sessions=[[1], [2], [3]], delay=3600)
        assert repeat_now(session_ids=ids[1:], actor="staff:olga") == 2
        assert last_step(ids[2]) == "moved: staff:olga: now"
        assert repeat_due() == ids[1:]

    def test_one_that_is_being_repeated_is_left_alone(self) -> None:
        theme()
        session_id = enqueue_session(theme=7, records=[], delay=0)
        [claim] = claim_due(1)
        assert repeat_now(session_ids=[session_id], actor="staff:olga") == 0
        assert RepeatSession.objects.get().change == claim.fence


class TestShift:
    def test_moves_repeat_times_either_way(self) -> None:
        theme()
        later, sooner = enqueue_sessions(theme=7, sessions=[[1], [2]], delay=100)
        shift_sessions(session_ids=[later], seconds=50, actor="staff:olga")
        shift_sessions(session_ids=[sooner], seconds=-50.5, actor="staff:olga")
        assert (last_step(later), last_step(sooner)) == ("moved: staff:olga: +50 s", "moved: staff:olga: -50.5 s")
        pass_time(60)
        assert repeat_due() == [sooner]
        pass_time(60)
        assert repeat_due() == []
        pass_time(40)
        assert repeat_due() == [later]

    def test_a_caller_who_does_not_know_it_is_told_so(self) -> None:
        theme()
        session_id = enqueue_session(theme=7, records=[], delay=100)
        shift_sessions(session_ids=[session_id], seconds=1, actor="staff:olga")
        assert RepeatSession.objects.get().change == 2


class TestRevive:
    def test_leaves_alone_what_is_not_exhausted(self) -> None:
        theme()
        session_id = enqueue_session(theme=7, records=[], delay=100)
        assert revive_sessions(session_ids=[session_id, 999], actor="staff:olga") == 0
        assert RepeatSession.objects.get().change == 1
