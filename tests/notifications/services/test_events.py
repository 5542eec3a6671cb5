import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.utils import timezone

from config.common.correlation import correlated
from notifications.models import Event
from notifications.services.events import NewEvent, record_events

ROOT = Path(__file__).resolve().parents[3]
PRODUCT = ("config", "sensors", "notifications", "messaging", "processes")
WRITES = re.compile(r"INSERT INTO notifications_event\b|\bEvent\.objects\.(bulk_)?create\b", re.IGNORECASE)


@pytest.mark.embedded
@pytest.mark.django_db
class TestRecordEvents:
    def test_in_their_order_under_the_id_of_the_call(self) -> None:
        now = timezone.now()
        with correlated("the-chain"):
            record_events([NewEvent("t.one", "a", now), NewEvent("t.two", "b", now, {"n": 2}, "its-own")])
        rows = Event.objects.order_by("id").values_list("type", "subject", "payload", "correlation_id")
        assert list(rows) == [("t.one", "a", {}, "the-chain"), ("t.two", "b", {"n": 2}, "its-own")]

    def test_what_no_engine_stores_is_taken_out_of_the_payload(self) -> None:
        record_events([NewEvent("t", "a", timezone.now(), {"text": "a\x00b"})])
        assert "\x00" not in Event.objects.get().payload["text"]


class TestOneWriter:
    def test_statements_that_write_events_stand_in_notifications_alone(self) -> None:
        writers = {file.relative_to(ROOT).as_posix() for file in _files() if WRITES.search(file.read_text())}
        assert writers == {
            "notifications/sql/record_events.postgresql.sql",
            "notifications/sql/record_events.sqlite.sql",
            "notifications/sql/record_events_of.postgresql.sql",
        }


def _files() -> Iterator[Path]:
    for name in PRODUCT:
        for suffix in ("*.py", "*.sql"):
            yield from (file for file in (ROOT / name).rglob(suffix) if "migrations" not in file.parts)
