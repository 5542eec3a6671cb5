from collections.abc import Callable

import pytest

from notifications.errors import StaleChange
from notifications.models import RepeatSession, SessionRecord
from notifications.sessions.lifecycle import append_records, create_session
from tests.notifications.sessions.themes import theme

pytestmark = [pytest.mark.embedded, pytest.mark.django_db(transaction=True)]


def test_of_eight_with_one_change_one_is_taken(in_threads: Callable[..., list[bool]]) -> None:
    theme()
    session = create_session(theme=7, records=[])
    change = RepeatSession.objects.get().change

    def append(number: int) -> bool:
        try:
            append_records(session_id=session, change=change, records=[number])
        except StaleChange:
            return False
        return True

    assert sorted(in_threads(append, 8)) == [False] * 7 + [True]
    assert (SessionRecord.objects.count(), RepeatSession.objects.get().record_count) == (1, 1)
