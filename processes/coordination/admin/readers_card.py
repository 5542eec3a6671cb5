"""The card above the list: how far each reader is behind, and whether each role was heard of lately."""

from dataclasses import dataclass
from datetime import datetime

from django.utils.safestring import SafeString

from processes.coordination.admin.words import say_age
from processes.coordination.coordinator.life import BELIEVED
from processes.coordination.models import AppEvent, RoleLife
from processes.coordination.selectors import UNDER_WAY, lags

MOST = 10_000
"""Counted no further: beyond it nobody asks for the exact number."""


@dataclass(frozen=True)
class RoleRow:
    name: str
    """Empty: the Writer; else the reader's."""
    is_alive: bool
    heard: SafeString | None
    """How long ago; None: never."""
    waiting: int = 0
    behind: SafeString | None = None
    """The age of the oldest change set that the reader has not ended; None: it has all."""


@dataclass(frozen=True)
class ReadersCard:
    rows: list[RoleRow]
    under_way: int
    is_more: bool

    @property
    def is_coordinator_away(self) -> bool:
        """It is the Coordinator who hears of the others: where it has heard of nobody, it may itself be away."""
        return not any(row.is_alive for row in self.rows)


def build_readers_card(now: datetime) -> ReadersCard:
    seen = dict(RoleLife.objects.values_list("name", "seen_at"))
    counted = AppEvent.objects.filter(app_event_status_id__in=UNDER_WAY).order_by()[: MOST + 1].count()
    rows = [RoleRow("", *_life(seen.get("writer"), now))]
    for lag in lags():
        behind = None if lag.since is None else say_age(lag.since, now)
        rows.append(RoleRow(lag.reader, *_life(seen.get(f"reader/{lag.reader}"), now), lag.waiting, behind))
    return ReadersCard(rows, min(counted, MOST), counted > MOST)


def _life(seen_at: datetime | None, now: datetime) -> tuple[bool, SafeString | None]:
    if seen_at is None:
        return False, None
    return now - seen_at < BELIEVED, say_age(seen_at, now)
