"""The card above the list: the lag of each reader, and the last heartbeat of each role."""

from dataclasses import dataclass
from datetime import datetime

from django.utils.safestring import SafeString
from django.utils.translation import gettext

from processes.coordination.admin.presentation import ROLES, format_span
from processes.coordination.coordinator.liveness import HEARTBEAT_VALID_FOR
from processes.coordination.models import AppEvent, RoleLife
from processes.coordination.protocol.transitions import RoleKind
from processes.coordination.selectors import UNDER_WAY, reader_lags

MOST = 10_000
"""Change sets are counted up to this number."""


@dataclass(frozen=True)
class RoleRow:
    title: str
    is_alive: bool
    heard: SafeString | None
    """How long ago; None: never."""
    is_reader: bool = False
    waiting: int = 0
    behind: SafeString | None = None
    """The age of the oldest change set that the reader has not ended; None: it has all."""


@dataclass(frozen=True)
class ReadersCard:
    rows: list[RoleRow]
    under_way: int
    is_more: bool
    is_coordinator_away: bool
    """It records the heartbeats of the others: nothing is known of them either."""


def build_readers_card(now: datetime) -> ReadersCard:
    seen = dict(RoleLife.objects.values_list("name", "seen_at"))
    counted = AppEvent.objects.filter(app_event_status_id__in=UNDER_WAY).order_by()[: MOST + 1].count()
    writer, coordinator = (
        RoleRow(str(ROLES[role]), *_heartbeat(seen.get(role), now)) for role in (RoleKind.WRITER, RoleKind.COORDINATOR)
    )
    readers = [
        RoleRow(
            gettext("Reader %(name)s") % {"name": lag.reader},
            *_heartbeat(seen.get(f"reader/{lag.reader}"), now),
            is_reader=True,
            waiting=lag.waiting,
            behind=None if lag.since is None else format_span(lag.since, now),
        )
        for lag in reader_lags()
    ]
    rows = [writer, coordinator, *readers]
    return ReadersCard(rows, min(counted, MOST), counted > MOST, is_coordinator_away=not coordinator.is_alive)


def _heartbeat(seen_at: datetime | None, now: datetime) -> tuple[bool, SafeString | None]:
    if seen_at is None:
        return False, None
    return now - seen_at < HEARTBEAT_VALID_FOR, format_span(seen_at, now)
