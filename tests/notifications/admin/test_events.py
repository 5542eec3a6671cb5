from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from notifications.models import Event
from tests.notifications.recorded_events import record_numbered_events
from tests.staff import signed_in

LIST = "/admin/notifications/event/"


@pytest.fixture
def viewer(db: None) -> Client:
    return signed_in("viewer")


def ids_on(page: Any) -> set[int]:
    return {event.pk for event in page.context["cl"].result_list}


@pytest.mark.embedded
class TestList:
    def test_shows_the_newest_first(self, viewer: Client) -> None:
        events = record_numbered_events(3)
        shown = [event.pk for event in viewer.get(LIST).context["cl"].result_list]
        assert shown == sorted((event.pk for event in events), reverse=True)

    def test_counts_nothing_however_many_there_are(self, viewer: Client, django_assert_max_num_queries: Any) -> None:
        record_numbered_events(120)
        with django_assert_max_num_queries(7) as captured:
            page = viewer.get(LIST)
        assert len(page.context["cl"].result_list) == 50
        assert not any("COUNT(" in query["sql"] for query in captured.captured_queries)

    def test_a_page_past_the_end_is_empty(self, viewer: Client) -> None:
        record_numbered_events(1)
        assert viewer.get(LIST, {"p": "7"}).status_code == 200

    def test_is_not_sorted_by_columns_without_an_index(self, viewer: Client) -> None:
        record_numbered_events(2)
        shown = [event.pk for event in viewer.get(LIST, {"o": "2"}).context["cl"].result_list]
        assert shown == sorted(shown, reverse=True)

    def test_filters_by_type(self, viewer: Client) -> None:
        record_numbered_events(1)
        wanted = record_numbered_events(1, type="test.wanted")
        assert ids_on(viewer.get(LIST, {"type": "test.wanted"})) == {wanted[0].pk}

    def test_a_type_is_looked_for_in_the_last_day(self, viewer: Client) -> None:
        old = record_numbered_events(1, type="test.wanted")
        Event.objects.filter(pk=old[0].pk).update(recorded_at=timezone.now() - timedelta(hours=25))
        assert ids_on(viewer.get(LIST, {"type": "test.wanted"})) == set()

    def test_finds_a_subject_by_its_exact_name(self, viewer: Client) -> None:
        wanted = record_numbered_events(1, subject="sensor:0xA")
        record_numbered_events(1, subject="sensor:0xAB")
        assert ids_on(viewer.get(LIST, {"q": "sensor:0xA"})) == {wanted[0].pk}


@pytest.mark.embedded
class TestPage:
    def test_shows_the_payload(self, viewer: Client) -> None:
        event = record_numbered_events(1)[0]
        assert "&quot;n&quot;: 1" in viewer.get(f"{LIST}{event.pk}/change/").content.decode()

    def test_hostile_payloads_are_text(self, viewer: Client) -> None:
        event = record_numbered_events(1)[0]
        Event.objects.filter(pk=event.pk).update(payload={"x": "<script>alert(1)</script>"})
        assert "<script>alert" not in viewer.get(f"{LIST}{event.pk}/change/").content.decode()

    def test_is_never_edited(self, viewer: Client) -> None:
        event = record_numbered_events(1)[0]
        assert viewer.post(f"{LIST}{event.pk}/change/", {"type": "x"}).status_code == 403
