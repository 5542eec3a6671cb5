from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest
from django.db.models import F

from config.common.database.row_lists import read_lists
from notifications.models import Alert, Delivery, Endpoint

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]
FULL_SECOND, FRACTION = (datetime(2026, 3, 1, 12, 30, 5, micros, tzinfo=UTC) for micros in (0, 120))
KEY = UUID("018f0000-0000-7000-8000-00000000000a")


def make_delivery(url: str, **fields: Any) -> Delivery:
    endpoint = Endpoint.objects.create(url=url, secret=b"x")
    return Delivery.objects.create(endpoint=endpoint, type="t", family="list", body={}, **fields)


class TestReadLists:
    def test_gives_each_list_as_its_query_does_by_one_statement(self, django_assert_num_queries: Any) -> None:
        make_delivery("https://a.example/“quoted” %s", due_at=FULL_SECOND, message_id=KEY, is_retry=True)
        make_delivery("https://b.example/", due_at=FRACTION)
        Alert.objects.create(kind="k", subject="s", title="t", detail={"a": [1, {"b": None}], "c": "“d”"})
        names = ("id", "endpoint", "endpoint__url", "message_id", "is_retry", "due_at", "under_way_until")
        deliveries = Delivery.objects.annotate(address=F("endpoint__url"))
        questions = {
            "newest": deliveries.order_by("-id").values(*names, "address")[:5],
            "first": deliveries.order_by("id").values("pk", "due_at")[:1],
            "alerts": Alert.objects.values("detail", "count")[:5],
            "none": Delivery.objects.filter(type="other").values("pk")[:5],
        }
        expected = {name: list(rows) for name, rows in questions.items()}
        with django_assert_num_queries(1):
            assert read_lists(questions) == expected
        assert [row["due_at"] for row in expected["newest"]] == [FRACTION, FULL_SECOND]

    def test_what_cannot_have_rows_is_not_asked(self, django_assert_num_queries: Any) -> None:
        with django_assert_num_queries(0):
            assert read_lists({"nobody": Delivery.objects.filter(pk__in=[]).values("pk")}) == {"nobody": []}

    def test_is_nothing_without_a_question(self) -> None:
        assert read_lists({}) == {}
