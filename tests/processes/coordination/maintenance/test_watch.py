from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone

from notifications.models import Alert
from notifications.services.alerts import raise_alert
from processes.coordination.coordinator.decisions import REFUSED
from processes.coordination.coordinator.liveness import HEARTBEAT_VALID_FOR, record_heartbeats
from processes.coordination.maintenance.watch import (
    AWAY,
    PATIENCE_SECONDS,
    REFUSALS_QUIET,
    AbsenceWatch,
    close_refusal_alerts,
    find_absent_roles,
)
from processes.coordination.models import AppEvent, WriterEvent, WriterEventReader
from processes.coordination.protocol.messages import Message, MessageType
from processes.coordination.protocol.statuses import EventStatus
from tests.processes.coordination.in_memory_roles import item

pytestmark = [pytest.mark.django_db, pytest.mark.embedded]
START = datetime(2026, 1, 1, tzinfo=UTC)
ALL = ("writer", "coordinator", "reader/main")


def hear(roles: Iterable[str], at: datetime = START) -> None:
    record_heartbeats([Message(MessageType.ALIVE, role=role) for role in roles], at)


class Watch:
    """Looks at roles that were last heard of at the start, when so many seconds have passed."""

    def __init__(self) -> None:
        self._passed = 0.0
        self._absences = AbsenceWatch(clock=lambda: self._passed)

    def look(self, seconds: float) -> list[str]:
        """Return of whom it has told by then."""
        self._passed = seconds
        self._absences.look_once(at=START + timedelta(seconds=seconds))
        alerts = Alert.objects.exclude(status=Alert.Status.RESOLVED).filter(kind=AWAY)
        return sorted(alerts.values_list("subject", flat=True))


class TestFindUnheard:
    @pytest.fixture(autouse=True)
    def _waiting(self) -> None:
        item("a")

    @pytest.mark.parametrize("missing", ALL)
    def test_finds_the_one_that_is_missing(self, missing: str) -> None:
        hear(set(ALL) - {missing})
        assert find_absent_roles(at=START) == {missing}

    def test_of_others_nothing_is_known_without_the_coordinator(self) -> None:
        assert find_absent_roles(at=START) == {"coordinator"}

    def test_what_was_said_long_ago_does_not_count(self) -> None:
        hear(ALL, at=START - HEARTBEAT_VALID_FOR)
        hear(["writer", "coordinator"])
        assert find_absent_roles(at=START) == {"reader/main"}

    @pytest.mark.parametrize("status", [EventStatus.COMMITTED, EventStatus.COMPENSATION_FAILED])
    def test_nobody_is_missed_while_nothing_waits(self, status: EventStatus) -> None:
        AppEvent.objects.update(app_event_status_id=status.value)
        assert find_absent_roles(at=START) == set()


class TestAbsences:
    @pytest.fixture(autouse=True)
    def _waiting(self) -> None:
        item("a")

    def test_tells_after_a_minute_of_looking(self) -> None:
        watch = Watch()
        assert watch.look(0) == watch.look(PATIENCE_SECONDS - 1) == []
        assert watch.look(PATIENCE_SECONDS) == ["coordinator"]

    def test_counts_from_the_last_time_it_was_there(self) -> None:
        watch = Watch()
        watch.look(0)
        hear(ALL, at=START + timedelta(seconds=50))
        assert watch.look(50) == watch.look(70) == watch.look(70 + PATIENCE_SECONDS - 1) == []
        assert watch.look(70 + PATIENCE_SECONDS) == ["coordinator"]

    def test_is_told_once_and_closed_when_it_is_heard_of(self) -> None:
        watch = Watch()
        for seconds in (0, PATIENCE_SECONDS, 2 * PATIENCE_SECONDS):
            watch.look(seconds)
        assert Alert.objects.get(kind=AWAY).count == 1
        hear(ALL, at=START + timedelta(seconds=150))
        assert watch.look(150) == []

    def test_one_that_has_just_started_closes_what_another_has_told(self) -> None:
        first = Watch()
        first.look(0)
        first.look(PATIENCE_SECONDS)
        hear(ALL, at=START + timedelta(seconds=100))
        assert Watch().look(100) == []

    def test_one_that_has_just_started_leaves_it_open_while_nobody_is_heard_of(self) -> None:
        first = Watch()
        first.look(0)
        first.look(PATIENCE_SECONDS)
        assert Watch().look(100) == ["coordinator"]

    def test_a_reader_is_not_taken_for_back_while_the_coordinator_is_away(self) -> None:
        watch = Watch()
        for seconds in (0, 30, PATIENCE_SECONDS):
            hear(["writer", "coordinator"], at=START + timedelta(seconds=seconds))
            told = watch.look(seconds)
        assert told == watch.look(PATIENCE_SECONDS + HEARTBEAT_VALID_FOR.total_seconds()) == ["reader/main"]


class TestCloseRefusals:
    """The alert of a reader that refuses closes itself, though not between two refusals."""

    @pytest.fixture(autouse=True)
    def _raised(self) -> None:
        raise_alert(REFUSED, "reader/main", "Reader main refuses", {})

    def _is_open(self, *, after: timedelta) -> bool:
        close_refusal_alerts(at=timezone.now() + after)
        return Alert.objects.exclude(status=Alert.Status.RESOLVED).filter(kind=REFUSED).exists()

    def test_when_nothing_was_refused_for_a_while(self) -> None:
        assert self._is_open(after=REFUSALS_QUIET / 2)
        assert not self._is_open(after=REFUSALS_QUIET * 2)

    def test_not_while_what_it_refused_has_not_ended(self) -> None:
        item("a")
        event = AppEvent.objects.get()
        row = WriterEvent.objects.create(pk=event.pk, position=1, date=event.date, app_event_type_id=1)
        WriterEventReader.objects.create(writer_event=row, name="main", bit=1, verdict="refused", reason="no")
        AppEvent.objects.update(app_event_status_id=EventStatus.COMPENSATION_FAILED.value)
        assert self._is_open(after=REFUSALS_QUIET * 2)
        AppEvent.objects.update(app_event_status_id=EventStatus.CANCELED.value)
        assert not self._is_open(after=REFUSALS_QUIET * 2)

    def test_of_a_reader_that_is_not_there_any_more(self) -> None:
        Alert.objects.update(subject="reader/gone")
        assert not self._is_open(after=timedelta(0))
