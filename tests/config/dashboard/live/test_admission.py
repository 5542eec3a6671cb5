from datetime import timedelta

import pytest
from django.contrib.auth.models import Group, Permission, User
from django.contrib.sessions.models import Session
from django.test import Client
from django.utils import timezone

from config.dashboard.live.admission import PERMISSIONS, Audience, Ticket, admit, ticket_of

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
        assert admit(signed_in(staff)) == Audience(frozenset({"engines"}), "en")
        staff.user_permissions.add(Permission.objects.get(codename="view_exchangeprocess"))
        assert admit(signed_in(staff)) == Audience(frozenset({"engines", "processes"}), "en")

    def test_a_viewer_sees_everything(self, staff: User) -> None:
        staff.groups.add(Group.objects.get(name="viewer"))
        assert admit(signed_in(staff)) == Audience(frozenset({*PERMISSIONS, "engines"}), "en")

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
