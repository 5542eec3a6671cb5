from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client

from notifications.models import RepeatSession
from notifications.sessions.claims import claim_due
from notifications.sessions.enqueue import enqueue_session
from notifications.sessions.lifecycle import create_session
from notifications.sessions.operations import Append, Finish
from tests.notifications.admin.sessions.session_pages import HOUR, LIST, address, confirmed, due_in, exhausted
from tests.notifications.sessions.themes import Scripted, pass_time, repeat_due, theme
from tests.staff import signed_in

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]


class TestPage:
    def test_tells_its_theme_records_and_what_happened(self, operator: Client, handle: Any) -> None:
        theme(length_limit=40)
        session_id = enqueue_session(theme=7, records=[{"order": 1}], delay=0)
        handle(Scripted(Append(["x" * 50]), Append([2]), Finish()))
        repeat_due()
        page = operator.get(address(session_id)).content.decode()
        assert "{\n  &quot;order&quot;: 1\n}" in page
        assert "/admin/notifications/theme/7/change/" in page
        assert '<span title="append">append records</span>' in page
        for part in ("1 of 10", "repeat failed", "refused", "acknowledged", "2000", "longer than its theme allows"):
            assert part in page

    def test_hostile_records_are_text(self, operator: Client) -> None:
        theme()
        session_id = enqueue_session(theme=7, records=["</pre><script>alert(1)</script>\u202e\u200b\U000e0041é"])
        page = operator.get(address(session_id)).content.decode()
        assert "<script>alert" not in page
        assert "&lt;/pre&gt;&lt;script&gt;alert(1)&lt;/script&gt;\\u202e\\u200b\\udb40\\udc41é" in page

    def test_of_long_and_many_records_the_beginning(self, operator: Client) -> None:
        theme(length_limit=10_000_000)
        long = enqueue_session(theme=7, records=["é" * 20_000])
        deep = enqueue_session(theme=7, records=[_nested(150)] * 150)
        page = operator.get(address(long)).content.decode()
        assert "Shortened: the full value" in page
        assert page.count("é") < 16_500
        page = operator.get(address(deep)).content.decode()
        assert "more</p>" in page
        assert len(page) < 2_000_000

    def test_one_that_needs_a_person_leads_to_its_alert(self, operator: Client, handle: Any) -> None:
        theme()
        handle(Scripted(Finish()))
        assert "/admin/notifications/alert/?q=theme" in operator.get(address(exhausted())).content.decode()

    def test_offers_what_fits_its_state(self, operator: Client, handle: Any) -> None:
        def offered(session_id: int) -> set[str]:
            page = operator.get(address(session_id)).content.decode()
            return {
                each for each in ("repeat", "shift", "revive", "records", "remove") if address(session_id, each) in page
            }

        theme()
        handle(Scripted(Finish()))
        assert offered(exhausted()) == {"revive", "records", "remove"}
        assert offered(enqueue_session(theme=7, records=[])) == {"repeat", "shift", "records", "remove"}
        assert offered(create_session(theme=7, records=[])) == {"remove"}

    def test_one_that_is_gone_leads_back(self, operator: Client) -> None:
        assert operator.get(address(99_999)).status_code == 302
        page = operator.post(address(99_999, "remove"), follow=True)
        assert "Session not found" in page.content.decode()
        assert page.redirect_chain == [(LIST, 302)]


class TestButtons:
    def test_repeat_now(self, operator: Client) -> None:
        theme()
        session_id = enqueue_session(theme=7, records=[], delay=HOUR)
        assert "Retry this session now?" in operator.get(address(session_id, "repeat")).content.decode()
        page = operator.post(address(session_id, "repeat"), follow=True).content.decode()
        assert "The session is due now." in page
        assert "olga: now" in page
        assert repeat_due() == [session_id]

    def test_shift_once_though_it_be_sent_twice(self, operator: Client) -> None:
        theme()
        session_id = enqueue_session(theme=7, records=[], delay=HOUR)
        sent = {"direction": "1", "amount": "1", "unit": "3600", "form_id": str(uuid4())}
        assert "has been rescheduled" in operator.post(address(session_id, "shift"), sent, follow=True).content.decode()
        assert "not twice" in operator.post(address(session_id, "shift"), sent, follow=True).content.decode()
        assert due_in(session_id) == 120

    @pytest.mark.parametrize("page", ["repeat", "shift", "revive"])
    def test_one_that_started_meanwhile_is_told_kindly(self, operator: Client, page: str) -> None:
        theme()
        session_id = enqueue_session(theme=7, records=[], delay=0)
        pass_time(1)  # SQLite's clock has milliseconds, and may be a part of one behind
        [claim] = claim_due(1)
        sent = {"direction": "1", "amount": "1", "unit": "3600", "form_id": str(uuid4())}
        shown = operator.post(address(session_id, page), sent, follow=True).content.decode()
        assert "The status of the session has changed" in shown
        assert RepeatSession.objects.get().change == claim.fence

    def test_revive(self, operator: Client, handle: Any) -> None:
        theme()
        handle(Scripted(Finish()))
        session_id = exhausted()
        page = operator.post(address(session_id, "revive"), follow=True).content.decode()
        assert "The session has been restarted." in page
        assert RepeatSession.objects.get().status == "saved"

    def test_delete_asks_and_returns_to_the_list(self, operator: Client) -> None:
        theme()
        session_id = enqueue_session(theme=7, records=[])
        assert "Delete this session?" in operator.get(address(session_id, "remove")).content.decode()
        page = operator.post(address(session_id, "remove"), follow=True)
        assert "The session has been deleted." in page.content.decode()
        assert page.redirect_chain == [(LIST, 302)]
        assert not RepeatSession.objects.exists()


class TestPermissions:
    PAGES = ("repeat", "shift", "revive", "records", "remove")

    def test_a_viewer_looks_and_acts_not(self) -> None:
        viewer = signed_in("viewer")
        theme()
        session_id = enqueue_session(theme=7, records=["seen"], delay=HOUR)
        page = viewer.get(address(session_id)).content.decode()
        assert "seen" in page
        assert not any(address(session_id, each) in page for each in self.PAGES)
        assert {viewer.post(address(session_id, each)).status_code for each in self.PAGES} == {403}
        for action in ("repeat_chosen", "shift_chosen", "revive_chosen", "delete_chosen"):
            viewer.post(LIST, confirmed(action, [session_id]))
        assert RepeatSession.objects.get().change == 1

    def test_the_right_to_change_is_enough_to_act(self) -> None:
        person = User.objects.create_user("ivan", is_staff=True)
        names = ("view_repeatsession", "change_repeatsession")
        person.user_permissions.set(Permission.objects.filter(codename__in=names))
        browser = Client()
        browser.force_login(person)
        theme()
        session_id = enqueue_session(theme=7, records=[], delay=HOUR)
        assert "due now" in browser.post(address(session_id, "repeat"), follow=True).content.decode()

    def test_who_may_nothing_sees_nothing(self) -> None:
        theme()
        session_id = enqueue_session(theme=7, records=[])
        browser = Client()
        browser.force_login(User.objects.create_user("ivan", is_staff=True))
        assert {browser.get(address(session_id, each)).status_code for each in ("change", *self.PAGES)} == {403}


def _nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value
