from datetime import datetime, timedelta
from typing import Any

import pytest

from config.common.database.row_lists import read_lists
from config.dashboard.live.counts import read_counts
from config.dashboard.live.sessions import MOST_SESSIONS, ask_sessions, read_sessions
from notifications.admin.presentation import repeater_of
from notifications.models import RepeatSession, Theme
from tests.config.dashboard.live.conftest import AT
from tests.notifications.sessions.themes import theme

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]


def save(minutes: float, *, repeats: int = 0) -> RepeatSession:
    due = AT + timedelta(minutes=minutes)
    columns = {"status": "saved", "due_at": due, "repeats": repeats, "length": 2, "record_count": 0, "save_number": 1}
    return RepeatSession.objects.create(theme=Theme.objects.filter(number=7).first() or theme(), **columns)


def sessions(at: datetime = AT) -> dict[str, Any]:
    return read_sessions(at, counts=read_counts(at), lists=read_lists(ask_sessions()))


class TestReadSessions:
    def test_is_empty_while_none_is_due(self) -> None:
        save(minutes=61)
        assert sessions() == {"overdue": 0, "due": 0, "exhausted": 0, "minutes": [], "next": []}

    def test_counts_what_is_due_within_the_hour_by_five_minutes(self) -> None:
        for minutes in (-1, 1, 4, 7, 59):
            save(minutes)
        exhausted = save(1)
        RepeatSession.objects.filter(pk=exhausted.pk).update(status="exhausted", due_at=None)
        found = sessions()
        assert (found["overdue"], found["due"], found["exhausted"]) == (1, 5, 1)
        assert found["minutes"] == [2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]

    def test_names_those_that_come_next_in_their_order(self) -> None:
        made = [save(minutes, repeats=minutes) for minutes in range(MOST_SESSIONS + 1, 0, -1)]
        found = sessions()["next"]
        assert [row["key"] for row in found] == [each.pk for each in reversed(made)][:MOST_SESSIONS]
        assert (found[0]["name"], found[0]["repeats"]) == (f"7/{made[-1].pk}", 1)
        assert found[0]["repeater"] == repeater_of(made[-1].theme)
        assert found[0]["page"] == f"/admin/notifications/repeatsession/{made[-1].pk}/change/"
