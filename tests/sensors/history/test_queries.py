from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from config.common.times import to_milliseconds
from notifications.models import Event, Follower, Sequencer
from notifications.services.relay import relay_once
from notifications.services.sequencer import stamp_once
from sensors.events import EVENT_TYPES, STATE_CHANGED
from sensors.history import queries
from sensors.history.database import DatabaseStore, store_in_transaction
from sensors.history.follower import FOLLOWING, NAME
from sensors.history.queries import read_changes, read_events, read_signals, read_uncopied
from sensors.history.store import get_store
from sensors.history.values import Period, to_past_event
from sensors.ingest.apply import apply_signals
from sensors.ingest.signals import Signal
from sensors.models import StoredEvent
from tests.plans import explain_statements
from tests.sensors.registry import make_sensor

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]

EVER = Period()


def accept(*values: int) -> list[Signal]:
    """Let a sensor send these values a second apart, and keep them as a call without a broker does."""
    make_sensor()
    now = to_milliseconds(timezone.now())
    sent = [Signal("0xA", now - 60_000 + 1000 * n, f"id-{n}", value, now) for n, value in enumerate(values)]
    apply_signals(sent, also=store_in_transaction)
    return sent


def accept_later(value: int) -> None:
    """Let the same sensor send once more."""
    now = to_milliseconds(timezone.now())
    apply_signals([Signal("0xA", now, "later", value, now)], also=store_in_transaction)


def relay() -> None:
    stamp_once()
    relay_once(FOLLOWING)


class TestReadSignals:
    def test_says_which_ones_changed_the_state(self) -> None:
        sent = accept(1, 1, 0, 0, 1)
        rows = read_signals(["0xA"], EVER, limit=9)
        assert [row.signal for row in rows] == sent[::-1]
        assert [row.changed for row in rows] == [True, False, True, False, True]

    def test_says_the_same_once_the_events_are_carried_over_and_the_outbox_is_empty(self) -> None:
        accept(1, 1, 0)
        relay()
        Event.objects.all().delete()
        assert [row.changed for row in read_signals(["0xA"], EVER, limit=9)] == [True, False, True]

    def test_a_late_signal_changed_nothing(self) -> None:
        first = accept(1)[0]
        late = Signal("0xA", first.at - 5000, "late", 0, first.received_at)
        apply_signals([late], also=store_in_transaction)
        assert [(row.signal.id, row.changed) for row in read_signals(["0xA"], EVER, limit=9)] == [
            ("id-0", True),
            ("late", False),
        ]

    def test_of_no_sensors_there_is_nothing(self) -> None:
        assert read_signals([], EVER, limit=9) == read_changes([], EVER, limit=9) == []


class TestReadChanges:
    def test_returns_the_changing_signals_alone(self) -> None:
        sent = accept(1, 1, 0, 0)
        rows = read_changes(["0xA"], EVER, limit=9)
        assert [row.signal for row in rows] == [sent[2], sent[0]]
        assert all(row.changed for row in rows)

    def test_goes_on_behind_a_key(self) -> None:
        sent = accept(1, 0, 1)
        first = read_changes(["0xA"], EVER, limit=1)
        rest = read_changes(["0xA"], EVER, before=first[0].key, limit=9)  # type: ignore[arg-type]
        assert [row.signal for row in rest] == [sent[1], sent[0]]

    def test_tells_a_signal_that_is_still_on_its_way_from_its_event(self) -> None:
        make_sensor()
        now = to_milliseconds(timezone.now())
        apply_signals([Signal("0xA", now, "travelling", 1, now)])
        row = read_changes(["0xA"], EVER, limit=9)[0].signal
        assert (row.id, row.data, row.at) == ("travelling", 1, now)
        assert abs(row.received_at - now) < 10_000


class TestReadEvents:
    def test_an_event_half_way_is_one(self) -> None:
        accept(1, 0)
        stamp_once()
        get_store().add_events([to_past_event(row) for row in Event.objects.all()])
        assert [row.payload["data"] for row in read_events(["0xA"], EVER, limit=9)] == [0, 1]

    def test_joins_what_is_carried_and_what_waits_in_the_order_of_time(self) -> None:
        sent = accept(1, 0)
        relay()
        apply_signals([Signal("0xA", sent[-1].at + 9, "x", 1, sent[-1].received_at)])
        assert (StoredEvent.objects.count(), Event.objects.count()) == (2, 3)
        first = read_events(["0xA"], EVER, limit=2)
        rest = read_events(["0xA"], EVER, before=first[-1].key, limit=2)
        assert [row.payload["data"] for row in [*first, *rest]] == [1, 0, 1]

    def test_an_event_that_moves_while_it_is_read_is_found(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def and_move(look: Callable[..., Any]) -> Callable[..., Any]:
            def answer(*args: Any, **options: Any) -> Any:
                found = look(*args, **options)
                relay()
                return found

            return answer

        accept(1)
        monkeypatch.setattr(queries, "read_uncopied", and_move(queries.read_uncopied))
        monkeypatch.setattr(DatabaseStore, "read_events", and_move(DatabaseStore.read_events))
        assert len(read_events(["0xA"], EVER, limit=9)) == 1

    def test_keeps_to_the_period(self) -> None:
        sent = accept(1, 0, 1)
        period = Period(sent[1].at, sent[2].at)
        assert [row.at for row in read_events(["0xA"], period, limit=9)] == [sent[1].at]
        later = to_milliseconds(timezone.now() + timedelta(days=1))
        assert read_events(["0xA"], Period(later, None), limit=9) == []

    def test_costs_the_same_statements_for_any_number_of_sensors(self, django_assert_max_num_queries: Any) -> None:
        accept(1)
        relay()
        with django_assert_max_num_queries(12):
            assert len(read_events(["0xA", *(f"s{n}" for n in range(40_000))], EVER, limit=9)) == 1

    @pytest.mark.parametrize("few", [10_000, 0])
    def test_finds_what_is_not_copied_of_many_sensors(self, few: int, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(queries, "FEW_UNCOPIED", few)
        accept(1, 0)
        relay()
        accept_later(1)
        make_sensor("0xB")
        assert len(read_events(["0xA", "0xB"], EVER, limit=9)) == 3
        assert len(read_uncopied(["0xA", "0xB"], EVER, EVENT_TYPES, None, 9)) == 1

    @pytest.mark.skipif(connection.vendor != "postgresql", reason="about PostgreSQL's planner")
    def test_does_not_read_all_that_the_sensors_of_a_client_ever_had(self) -> None:
        at = timezone.now()
        Event.objects.bulk_create(
            Event(type=STATE_CHANGED, subject=f"sensor/s{n % 5 and n}", at=at, payload={}, position=n + 1)
            for n in range(5000)
        )
        Sequencer.objects.update_or_create(pk=1, defaults={"position": 5000})
        Follower.objects.update_or_create(name=NAME, defaults={"position": 3000})
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE notifications_event")
        sensors = [f"s{n}" for n in range(10)]
        plans = explain_statements(
            lambda: read_uncopied(sensors, EVER, EVENT_TYPES, None, 9), about='"notifications_event"."subject"'
        )
        assert len(plans) == 1
        assert "position_idx" in plans[0]
        assert "subject_id_idx" not in plans[0]
