from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from config.common.database.row_lists import read_lists
from config.dashboard.live.counts import MOST_COUNTED
from config.dashboard.live.doors import LEAST_PAUSE, MOST_CHANGES, Fleet, ask_doors, read_doors, read_fleet
from config.dashboard.live.page_state import read_state
from notifications.models.event import DOOR_TYPES
from notifications.selectors import read_minutes
from notifications.services.sequencer import stamp_once
from sensors.events import EVENT_TYPES
from sensors.ingest.apply import apply_signals
from sensors.ingest.signals import Signal
from sensors.models import Sensor, SensorState
from sensors.selectors import FleetTally, count_fleet
from tests.config.dashboard.live.conftest import AT
from tests.notifications.recorded_events import record_numbered_events
from tests.plans import explain_statements
from tests.sensors.registry import make_sensor

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]


def send(sensor: str, *values: int) -> None:
    """Let a sensor send these states, one a second, up to now."""
    now = int(timezone.now().timestamp() * 1000)
    apply_signals(
        [
            Signal(sensor, now - 1000 * (len(values) - place), f"{now}-{place}", value, now)
            for place, value in enumerate(values)
        ]
    )
    while stamp_once():
        pass


def doors(**given: Any) -> dict[str, Any]:
    usual = {"lost": 0, "is_outage": False, "fleet": None, "minutes": read_minutes(timezone.now())}
    return read_doors(**{**usual, "lists": read_lists(ask_doors(after=0)), **given})


def fleet(**counts: int) -> Fleet:
    return Fleet(FleetTally(**{**dict.fromkeys(FleetTally.__dataclass_fields__, 0), **counts}), pause=2.0)


class TestReadDoors:
    def test_shows_the_newest_changes_newest_first(self) -> None:
        make_sensor("0xA", address="1 Gate Street")
        send("0xA", 1, 0)
        found = doors()
        assert [(row["what"], row["sensor"]) for row in found["changes"]] == [("closed", "0xA"), ("opened", "0xA")]
        assert found["changes"][0]["page"] == "/admin/sensors/sensor/0xA/change/"
        assert found["changes"][0]["address"] == "1 Gate Street"

    def test_counts_the_changes_of_each_minute_of_the_last_hour(self) -> None:
        make_sensor("0xA")
        send("0xA", 1, 0, 1, 1)
        assert sum(doors()["minutes"]) == 3
        assert len(doors()["minutes"]) == 60
        assert doors(minutes=read_minutes(timezone.now() + timedelta(hours=2)))["minutes"] == []

    def test_shows_no_more_than_twenty(self) -> None:
        make_sensor("0xA")
        send("0xA", *([1, 0] * MOST_CHANGES))
        assert len(doors()["changes"]) == MOST_CHANGES

    def test_a_change_stays_however_much_else_happens(self) -> None:
        make_sensor("0xA")
        send("0xA", 1)
        first = read_state(None, now=0.0)
        record_numbered_events(3000)
        while stamp_once():
            pass
        assert first is not None
        second = read_state(first, now=9.0)
        assert second is not None
        for state in (first, second, read_state(None, now=9.0)):
            assert state is not None
            assert [row["sensor"] for row in state.parts.sensors["changes"]] == ["0xA"]

    def test_only_what_is_newer_is_read_and_put_before_the_rest(self) -> None:
        make_sensor("0xA")
        send("0xA", 1, 0)
        known = doors()["changes"]
        send("0xA", 1)
        assert len(read_lists(ask_doors(after=known[0]["key"]))["door_changes"]) == 1
        # What was read before is not shown twice.
        for after in (known[0]["key"], known[1]["key"]):
            found = doors(lists=read_lists(ask_doors(after=after)), known=known)["changes"]
            assert [row["what"] for row in found] == ["opened", "closed", "opened"]

    def test_of_the_newer_ones_twenty_are_left(self) -> None:
        make_sensor("0xA")
        send("0xA", *([1, 0] * MOST_CHANGES))
        known = doors()["changes"]
        send("0xA", 1)
        found = doors(known=known)["changes"]
        assert (len(found), found[0]["what"], found[1:]) == (MOST_CHANGES, "opened", known[:-1])

    @pytest.mark.skipif(connection.vendor != "postgresql", reason="about PostgreSQL's planner")
    def test_the_first_read_goes_by_the_index_of_the_changes(self) -> None:
        make_sensor("0xA")
        send("0xA", 1)
        record_numbered_events(3000)
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE notifications_event")
        [plan] = explain_statements(lambda: read_lists(ask_doors(after=0)), about="notifications_event")
        # What the condition of the index says is not asked of each row.
        assert ("Index Scan" in plan, "Filter" in plan) == (True, False), plan

    def test_the_index_has_all_that_is_shown(self) -> None:
        assert set(DOOR_TYPES) == set(EVENT_TYPES)

    def test_says_nothing_of_the_fleet_before_it_is_counted(self) -> None:
        assert "online" not in doors()

    def test_during_an_outage_nobody_is_online(self) -> None:
        counted = fleet(total=10, seen=8, lost=1, inactive=2, open=3, closed=5)
        found = doors(lost=1, fleet=counted)
        assert [found[name] for name in ("online", "lost", "unknown", "never_seen")] == [5, 1, 2, 2]
        found = doors(lost=1, fleet=counted, is_outage=True)
        assert [found[name] for name in ("online", "lost", "unknown", "never_seen")] == [0, 1, 7, 2]

    def test_the_lost_are_those_of_this_moment_up_to_the_limit_of_the_count(self) -> None:
        assert doors(lost=4, fleet=fleet(seen=9, lost=2))["lost"] == 4
        assert doors(lost=MOST_COUNTED, fleet=fleet(seen=9000, lost=7000))["lost"] == 7000


class TestFleet:
    def test_counts_every_sensor_once(self) -> None:
        for sensor in ("new", "open", "closed", "lost", "off"):
            make_sensor(sensor)
        SensorState.objects.exclude(sensor="new").update(seen_at=AT, value=0, changed_at=AT, last_at=AT)
        SensorState.objects.filter(sensor="open").update(value=1)
        SensorState.objects.filter(sensor="lost").update(lost_at=AT)
        Sensor.objects.filter(pk="off").update(active=False)
        assert count_fleet() == FleetTally(total=5, seen=4, lost=1, inactive=1, open=1, closed=3)

    def test_rests_the_longer_the_longer_it_took(self, monkeypatch: pytest.MonkeyPatch) -> None:
        assert read_fleet().pause == LEAST_PAUSE
        clock = iter([0.0, 0.7])
        monkeypatch.setattr("config.dashboard.live.doors.monotonic", lambda: next(clock))
        assert read_fleet().pause == pytest.approx(35.0)
