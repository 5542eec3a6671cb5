from typing import Any

import pytest
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

    def test_counts_nothing(self, viewer: Client, entry: LogEntry, django_assert_max_num_queries: Any) -> None:
        with django_assert_max_num_queries(7) as captured:
            viewer.get(LIST)
        assert not any("COUNT(" in query["sql"] for query in captured.captured_queries)


class TestPage:
    def test_shows_the_details(self, viewer: Client, entry: LogEntry) -> None:
        page = viewer.get(f"{LIST}{entry.pk}/change/").content.decode()
        assert "&quot;file&quot;: &quot;&lt;b&gt;7&lt;/b&gt;&quot;" in page

    def test_is_never_edited(self, viewer: Client, entry: LogEntry) -> None:
        assert viewer.post(f"{LIST}{entry.pk}/change/", {"text": "x"}).status_code == 403
        assert viewer.post(f"{LIST}{entry.pk}/delete/", {"post": "yes"}).status_code == 403
        assert viewer.get(f"{LIST}add/").status_code == 403
