from typing import Any

import pytest
from django.test import Client

from config.records.models import ChangeRecord
from notifications.admin import session_records
from notifications.models import RepeatSession
from notifications.sessions.claims import claim_due
from notifications.sessions.enqueue import enqueue_session
from notifications.sessions.lifecycle import append_records, create_session, delete_session
from notifications.sessions.presentation import present_with_timelines
from notifications.sessions.storage import read_records
from tests.notifications.sessions.themes import theme
from tests.staff import signed_in

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]


@pytest.fixture
def operator() -> Client:
    return signed_in("operator")


def address(session_id: int) -> str:
    return f"/admin/notifications/repeatsession/{session_id}/records/"


def records_of(session_id: int) -> list[Any]:
    return read_records([session_id])[session_id]


class TestEditRecords:
    def test_shows_them_laid_out_and_takes_what_was_typed(self, operator: Client) -> None:
        theme()
        session_id = enqueue_session(theme=7, records=[{"order": 1, "name": "é\u202e"}], delay=3600)
        due_at = RepeatSession.objects.get().due_at
        form = operator.get(address(session_id)).context["form"]
        shown = form["records"].value()
        assert shown == '[\n  {\n    "order": 1,\n    "name": "é\\u202e"\n  }\n]'
        typed = shown.replace("1,", "2,").replace("\n", "\r\n")
        page = operator.post(address(session_id), {"change": "1", "records": typed}, follow=True)
        assert "The records have been replaced." in page.content.decode()
        assert records_of(session_id) == [{"order": 2, "name": "é\u202e"}]
        session = RepeatSession.objects.get()
        assert (session.status, session.change, session.due_at) == ("saved", 2, due_at)

    def test_is_told_in_the_timeline_and_in_the_change_log(self, operator: Client) -> None:
        theme()
        session_id = enqueue_session(theme=7, records=[1], delay=3600)
        operator.post(address(session_id), {"change": "1", "records": "[1, 2]"})
        [shown] = present_with_timelines([RepeatSession.objects.get()])
        assert shown["timeline"][-1]["what"] == "rewritten: 2"
        told = ChangeRecord.objects.get(kind="session")
        assert (told.actor, told.before["records"], told.after["records"]) == ("staff:olga", 1, 2)

    def test_a_stale_one_is_kept_beside_what_is_there_now(self, operator: Client) -> None:
        theme()
        session_id = enqueue_session(theme=7, records=["old"], delay=3600)
        append_records(session_id=session_id, change=1, records=["theirs"])
        typed = {"change": "1", "records": '["mine"]'}
        page = operator.post(address(session_id), typed)
        words = page.content.decode()
        assert "has changed while you were writing" in words
        assert page.context["form"]["records"].value() == '["mine"]'
        assert "theirs" in page.context["newest"]
        assert records_of(session_id) == ["old", "theirs"]
        again = {"change": page.context["form"]["change"].value(), "records": '["mine"]'}
        operator.post(address(session_id), again)
        assert records_of(session_id) == ["mine"]

    def test_one_that_a_worker_has_taken_stays_with_it(self, operator: Client) -> None:
        theme()
        session_id = enqueue_session(theme=7, records=["old"], delay=0)
        [claim] = claim_due(1)
        page = operator.post(address(session_id), {"change": "1", "records": '["mine"]'})
        newest = page.context["form"]["change"].value()
        assert newest == str(claim.fence)
        page = operator.post(address(session_id), {"change": newest, "records": '["mine"]'})
        assert "The session is in use right now." in page.content.decode()
        assert page.context["form"]["records"].value() == '["mine"]'
        assert RepeatSession.objects.get().change == claim.fence

    def test_of_one_that_is_gone_the_text_is_still_there(self, operator: Client) -> None:
        theme()
        session_id = enqueue_session(theme=7, records=["old"], delay=3600)
        delete_session(session_id=session_id)
        page = operator.post(address(session_id), {"change": "1", "records": '["mine"]'})
        assert "Session not found" in page.content.decode()
        assert page.context["form"]["records"].value() == '["mine"]'

    def test_what_is_too_long_for_a_form_is_not_offered(
        self, operator: Client, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        theme()
        session_id = enqueue_session(theme=7, records=["old"], delay=3600)
        session = RepeatSession.objects.get(pk=session_id)
        monkeypatch.setattr(session_records, "LONGEST_EDITED", session.length)
        assert session_records.is_editable(session)
        monkeypatch.setattr(session_records, "LONGEST_EDITED", session.length - 1)
        assert not session_records.is_editable(session)

    @pytest.mark.parametrize(
        ("typed", "rule"),
        [
            ("[1,\n 2", "truncated"),
            ('{"a": 1}', "Must be a list."),
            ("[" * 300 + "]" * 300, "nested too deeply"),
            ('["\\u0000"]', "NUL"),
            ("[NaN]", "malformed"),
            (f'["{"x" * 60}"]', "has 64 bytes; the theme allows 50"),
            ("", "This field is required."),
        ],
    )
    def test_the_rules_are_those_of_rest(self, operator: Client, typed: str, rule: str) -> None:
        theme(length_limit=50)
        session_id = enqueue_session(theme=7, records=["old"], delay=3600)
        page = operator.post(address(session_id), {"change": "1", "records": typed})
        [told] = page.context["form"].errors["records"]
        assert rule in told
        assert records_of(session_id) == ["old"]

    def test_says_where_the_fault_is(self, operator: Client) -> None:
        theme()
        session_id = enqueue_session(theme=7, records=["old"], delay=3600)
        page = operator.post(address(session_id), {"change": "1", "records": "[1,\n 2,\n x]"})
        assert "Line 3, column 2" in page.context["form"].errors["records"][0]

    def test_an_active_one_is_its_callers(self, operator: Client) -> None:
        theme()
        session_id = create_session(theme=7, records=["old"])
        assert operator.get(address(session_id)).status_code == 302
        page = operator.post(address(session_id), {"change": "1", "records": '["mine"]'})
        assert "The session is in use right now." in page.content.decode()
        assert records_of(session_id) == ["old"]

    def test_what_is_too_long_for_a_page_is_not_offered(self, operator: Client) -> None:
        theme(length_limit=1_000_000)
        session_id = enqueue_session(theme=7, records=["x" * 140_000], delay=3600)
        assert operator.get(address(session_id)).status_code == 302
