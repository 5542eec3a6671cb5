from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import time_machine
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.test import Client

from config.access.sessions import UNATTENDED, SessionStore
from config.dashboard.live.admission import Ticket, admit

AT = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
IDLE = timedelta(hours=8)
PAGE = "/admin/password_change/"


@pytest.fixture
def staff(db: None) -> Client:
    User.objects.create_superuser("olga", password="a long password")
    client = Client()
    with time_machine.travel(AT, tick=False):
        client.post("/admin/login/", {"username": "olga", "password": "a long password"})
    return client


def status(client: Client, at: datetime) -> int:
    with time_machine.travel(at, tick=False):
        return int(client.get(PAGE).status_code)


@pytest.mark.embedded
class TestSessionStore:
    def test_a_session_that_nobody_used_for_so_long_is_over(self, staff: Client) -> None:
        assert status(staff, AT + IDLE + timedelta(seconds=1)) == 302

    def test_until_then_it_is_not(self, staff: Client) -> None:
        assert status(staff, AT + IDLE) == 200

    def test_each_call_prolongs_it(self, staff: Client) -> None:
        assert [status(staff, AT + IDLE * number) for number in (1, 2, 3)] == [200, 200, 200]

    def test_a_short_time_is_prolonged_before_it_is_over(self, staff: Client, settings: Any) -> None:
        settings.SESSION_IDLE_SECONDS = 60
        assert [status(staff, AT + timedelta(seconds=at)) for at in (45, 90, 135)] == [200, 200, 200]

    def test_a_call_that_a_page_makes_by_itself_does_not(self, staff: Client) -> None:
        with time_machine.travel(AT + IDLE / 2, tick=False):
            assert staff.get(PAGE, headers={UNATTENDED: "1"}).status_code == 200
        assert status(staff, AT + IDLE + timedelta(seconds=1)) == 302

    def test_two_weeks_after_it_began_it_is_over_however_it_was_used(self, staff: Client) -> None:
        for hours in range(0, 14 * 24, 8):
            store = SessionStore(staff.cookies["sessionid"].value)
            with time_machine.travel(AT + timedelta(hours=hours), tick=False):
                assert "_auth_user_id" in store
                store.save()
        assert status(staff, AT + timedelta(days=14)) == 200
        assert status(staff, AT + timedelta(days=14, seconds=1)) == 302

    def test_a_call_soon_after_another_writes_nothing(self, staff: Client) -> None:
        status(staff, AT + timedelta(minutes=5))
        before = Session.objects.get().session_data
        status(staff, AT + timedelta(minutes=5, seconds=59))
        assert Session.objects.get().session_data == before
        status(staff, AT + timedelta(minutes=6))
        assert Session.objects.get().session_data != before

    def test_a_web_socket_is_not_opened_by_one_that_is_over(self, staff: Client) -> None:
        ticket = Ticket(staff.cookies["sessionid"].value, "en")
        with time_machine.travel(AT + IDLE, tick=False):
            assert admit(ticket) is not None
        with time_machine.travel(AT + IDLE + timedelta(seconds=1), tick=False):
            assert admit(ticket) is None
