from dataclasses import replace
from datetime import timedelta

import pytest
import time_machine
from django.contrib.auth import get_user
from django.contrib.auth.models import Group, Permission, User
from django.contrib.sessions.models import Session
from django.http import HttpRequest
from django.test import Client
from django.utils import timezone

from config.dashboard.live import admission
from config.dashboard.live.admission import DEEDS, PERMISSIONS, Audience, Ticket, admit, ticket_of
from config.records.models import UserSettings
from tests.config.dashboard.live.conftest import AT

OF_ALL = frozenset({"engines", "runtime"})
pytestmark = [pytest.mark.embedded, pytest.mark.django_db]


def signed_in(person: User) -> Ticket:
    client = Client()
    client.force_login(person)
    return Ticket(client.cookies["sessionid"].value, "en")


@pytest.fixture
def staff(db: None) -> User:
    return User.objects.create_user("ivan", is_staff=True)


class TestAdmit:
    def test_staff_see_the_engines_and_what_their_permissions_name(self, staff: User) -> None:
        assert admit(signed_in(staff)) == Audience(OF_ALL, "en")
        staff.user_permissions.add(Permission.objects.get(codename="view_exchangeprocess"))
        assert admit(signed_in(staff)) == Audience(OF_ALL | {"processes"}, "en")

    def test_the_zone_is_that_of_the_person_and_parts_no_audience(self, staff: User) -> None:
        ticket = signed_in(staff)
        UserSettings.objects.create(user=staff, time_zone="Asia/Tokyo")
        audience = admit(ticket)
        assert audience is not None
        assert (audience.zone, audience) == ("Asia/Tokyo", Audience(OF_ALL, "en"))

    def test_a_viewer_sees_everything(self, staff: User) -> None:
        staff.groups.add(Group.objects.get(name="viewer"))
        assert admit(signed_in(staff)) == Audience(OF_ALL | {*PERMISSIONS}, "en")

    def test_an_operator_may_also_acknowledge_and_complete_tasks(self, staff: User) -> None:
        staff.groups.add(Group.objects.get(name="operator"))
        assert admit(signed_in(staff)) == Audience(OF_ALL | {*PERMISSIONS, *DEEDS}, "en")

    @pytest.mark.parametrize("session", ["", "short", "a" * 32])
    def test_nobody_is_admitted_without_a_session(self, session: str) -> None:
        assert admit(Ticket(session, "en")) is None

    @pytest.mark.parametrize("change", [{"is_staff": False}, {"is_active": False}])
    def test_who_is_staff_no_more_is_not(self, staff: User, change: dict[str, bool]) -> None:
        ticket = signed_in(staff)
        User.objects.filter(pk=staff.pk).update(**change)
        assert admit(ticket) is None

    def test_a_session_that_is_over_is_not(self, staff: User) -> None:
        ticket = signed_in(staff)
        Session.objects.update(expire_date=timezone.now() - timedelta(seconds=1))
        assert admit(ticket) is None

    def test_a_wall_stays_signed_in_though_nobody_calls_and_a_desk_does_not(self, staff: User) -> None:
        with time_machine.travel(AT, tick=False):
            desk, wall = signed_in(staff), replace(signed_in(staff), is_wall=True)
        for seconds in range(0, 9 * 3600, 45):
            with time_machine.travel(AT + timedelta(seconds=seconds), tick=False):
                assert admit(wall) is not None, seconds
        with time_machine.travel(AT + timedelta(hours=9), tick=False):
            assert admit(desk) is None

    def test_a_wall_whose_session_is_ended_meanwhile_is_not(self, staff: User, monkeypatch: pytest.MonkeyPatch) -> None:
        with time_machine.travel(AT, tick=False):
            wall = replace(signed_in(staff), is_wall=True)

        def sign_out(request: HttpRequest) -> User:
            user = get_user(request)
            Session.objects.all().delete()
            assert isinstance(user, User)
            return user

        monkeypatch.setattr(admission, "get_user", sign_out)
        with time_machine.travel(AT + timedelta(hours=1), tick=False):
            assert admit(wall) is None
        assert not Session.objects.exists()

    def test_a_session_from_before_a_new_password_is_not(self, staff: User) -> None:
        ticket = signed_in(staff)
        staff.set_password("another long password")
        staff.save(update_fields=["password"])
        assert admit(ticket) is None


class TestTicketOf:
    @pytest.mark.parametrize(
        ("headers", "language"),
        [
            ([(b"accept-language", b"ru")], "ru"),
            ([(b"accept-language", b"ru"), (b"cookie", b"django_language=en; sessionid=abc")], "en"),
            ([], "en"),
        ],
    )
    def test_speaks_as_the_pages_do(self, headers: list[tuple[bytes, bytes]], language: str) -> None:
        scope = {"type": "websocket", "path": "/ws/dashboard/", "query_string": b"", "headers": headers}
        assert ticket_of(scope).language == language

    @pytest.mark.parametrize(("query", "is_wall"), [(b"wall=1", True), (b"", False), (b"wall=0", False)])
    def test_says_whether_it_is_a_wall(self, query: bytes, is_wall: bool) -> None:
        scope = {"type": "websocket", "path": "/ws/dashboard/", "query_string": query, "headers": []}
        assert ticket_of(scope).is_wall is is_wall
