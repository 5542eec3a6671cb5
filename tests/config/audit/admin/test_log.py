from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from config.audit.log import write_log_entry
from config.records.models import LogEntry
from tests.staff import signed_in

pytestmark = pytest.mark.embedded

LIST = "/admin/records/logentry/"


@pytest.fixture
def viewer(db: None) -> Client:
    return signed_in("viewer")


@pytest.fixture
def entry(db: None) -> LogEntry:
    data = {"file": "<b>7</b>"}
    write_log_entry(level="error", kind="file", subject="message/7", template="File %(file)s is gone", data=data)
    return LogEntry.objects.get()


class TestList:
    def test_says_when_how_bad_what_and_about_what(self, viewer: Client, entry: LogEntry) -> None:
        page = viewer.get(LIST).content.decode()
        assert all(word in page for word in ("error", "File &lt;b&gt;7&lt;/b&gt; is gone", "message/7"))

    def test_names_what_an_entry_is_about_with_the_code_as_a_hint(self, viewer: Client) -> None:
        for subject in ("coordination/11", "sensor/0xA", "call/GET nothing"):
            write_log_entry(level="info", kind="alert", subject="alert/7", template="A thing", data={"about": subject})
        page = viewer.get(LIST).content.decode()
        assert 'href="/admin/coordination/appevent/11/change/" title="coordination/11">change set 11</a>' in page
        assert 'href="/admin/notifications/alert/7/change/" title="alert/7">alert 7</a>' in page
        assert "call/GET nothing" in page

    def test_names_accounts(self, db: None) -> None:
        administrator = signed_in("administrator")
        account = User.objects.get()
        write_log_entry(level="info", kind="account", subject=f"account/{account.pk}", template="Signed in", data={})
        page = administrator.get(LIST).content.decode()
        assert f'href="/admin/auth/user/{account.pk}/change/" title="account/{account.pk}">' in page
        assert f"account {account.username}</a>" in page

    @pytest.mark.parametrize(
        ("query", "found"),
        [
            ({"level": "error"}, True),
            ({"level": "info"}, False),
            ({"kind": "file"}, True),
            ({"kind": "alert"}, False),
            ({"q": "IS GONE"}, True),
            ({"q": "gone is"}, False),
            ({"level": "error", "q": "file"}, True),
        ],
    )
    def test_filters_and_searches(self, viewer: Client, entry: LogEntry, query: dict[str, str], found: bool) -> None:
        assert (f"{entry.pk}/change/" in viewer.get(LIST, query).content.decode()) is found

    def test_counts_no_further_than_its_bound(
        self, viewer: Client, entry: LogEntry, django_assert_max_num_queries: Any
    ) -> None:
        with django_assert_max_num_queries(11) as captured:
            viewer.get(LIST)
        counts = [query["sql"] for query in captured.captured_queries if "COUNT(" in query["sql"]]
        assert all("LIMIT 10001" in sql or "LIMIT 100)" in sql for sql in counts)


class TestPage:
    def test_shows_the_details(self, viewer: Client, entry: LogEntry) -> None:
        page = viewer.get(f"{LIST}{entry.pk}/change/").content.decode()
        assert "&quot;file&quot;: &quot;&lt;b&gt;7&lt;/b&gt;&quot;" in page

    def test_is_never_edited(self, viewer: Client, entry: LogEntry) -> None:
        assert viewer.post(f"{LIST}{entry.pk}/change/", {"text": "x"}).status_code == 403
        assert viewer.post(f"{LIST}{entry.pk}/delete/", {"post": "yes"}).status_code == 403
        assert viewer.get(f"{LIST}add/").status_code == 403
