"""What the live page knows: read when something happened, and every two seconds for what happens without an event.

Nothing here grows with history: lists are cut, and a count ends at `MOST_COUNTED`, which then means "or more".
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID

from django.db import connection
from django.utils import timezone

from config.common.database.row_lists import Lists, Questions, read_lists
from config.dashboard.live.change_sets import ask_change_sets, read_change_sets
from config.dashboard.live.counts import read_counts
from config.dashboard.live.deliveries import ask_deliveries, read_deliveries
from config.dashboard.live.doors import Fleet, ask_doors, read_doors
from config.dashboard.live.inbox import Inbox, ask_inbox, in_each_language, open_alerts, read_inbox
from config.dashboard.live.own_processes import ask_own_processes, read_own_processes
from config.dashboard.live.processes import ProcessRow, ask_processes, read_processes
from config.dashboard.live.sessions import ask_sessions, read_sessions
from config.dashboard.live.workflows import ask_workflows, read_workflows
from notifications.models import Alert, Sequencer
from notifications.selectors import read_minutes
from processes.exchange.models import ExchangeProcess
from processes.exchange.transitions import LIVE
from sensors.heartbeat.ingest_liveness import is_outage

LONGEST_SECONDS = 2.0
SLOW_SECONDS = 1.0
"""What nobody watches by the second (sessions, change sets, our own processes) is read no more often than this."""
MOST_ALERTS = 20
MOST_LOOKED_AT = 200
LOOK_BACK = 20_000
"""Positions in which the last changes of doors are looked for where no index has them alone."""

Section = Mapping[str, Any]


@dataclass(frozen=True)
class AlertRow:
    id: int
    kind: str
    titles: dict[str, str]
    """In each language of the product."""
    status: str
    last_at: datetime


@dataclass(frozen=True)
class Parts:
    """The parts of the page by their ids or names: all of it, or as much as has changed."""

    processes: Mapping[UUID, ProcessRow]
    sensors: Section
    deliveries: Section
    alerts: Mapping[int, AlertRow]
    engines: Mapping[str, str]
    inbox: Inbox = field(default_factory=dict)
    beyond: Mapping[str, int] = field(default_factory=dict)
    """By the part of the inbox: how many more wait than it lists."""
    workflows: Section = field(default_factory=dict)
    sessions: Section = field(default_factory=dict)
    changes: Section = field(default_factory=dict)
    runtime: Section = field(default_factory=dict)


@dataclass(frozen=True)
class Mark:
    """By this it is seen that something happened, at the cost of two small reads."""

    position: int
    live: tuple[tuple[UUID, str], ...]

    @property
    def is_moving(self) -> bool:
        """Files are being moved, which no event tells of one by one."""
        return any(status == ExchangeProcess.Status.CLEANUP for _, status in self.live)


@dataclass(frozen=True)
class Beside:
    """What is read beside the beat, because it takes its time: the last answer of each."""

    engines: Mapping[str, str] = field(default_factory=dict)
    queues: Mapping[str, int] | None = None
    """None: not read yet."""
    fleet: Fleet | None = None


@dataclass(frozen=True)
class PageState:
    parts: Parts
    mark: Mark
    read_at: float
    """By the monotonic clock; so is the next."""
    slow_at: float = 0.0


def read_state(last: PageState | None, *, now: float, beside: Beside | None = None) -> PageState | None:
    """Return what the page shows; None while two small reads show no sign of news."""
    position = Sequencer.objects.filter(pk=1).values_list("position", flat=True).first() or 0
    if last is None:
        parts = _read_parts(None, beside or Beside(), position=position, with_slow=True)
        rows = [(row.id, row.status) for row in parts.processes.values() if row.status in LIVE]
        return PageState(parts, Mark(position, tuple(rows[:MOST_LOOKED_AT])), read_at=now, slow_at=now)
    live = ExchangeProcess.objects.filter(status__in=LIVE).order_by("-started_at", "-id")
    mark = Mark(position, tuple(live.values_list("pk", "status")[:MOST_LOOKED_AT]))
    if mark == last.mark and not mark.is_moving and now - last.read_at < LONGEST_SECONDS:
        return None
    is_slow_due = now - last.slow_at >= SLOW_SECONDS
    parts = _read_parts(last, beside or Beside(), position=position, with_slow=is_slow_due)
    return PageState(parts, mark, read_at=now, slow_at=now if is_slow_due else last.slow_at)


def _read_parts(last: PageState | None, beside: Beside, *, position: int, with_slow: bool) -> Parts:
    at, known = timezone.now(), None if last is None else last.parts
    changes = [] if known is None else known.sensors["changes"]
    counts, minutes = read_counts(at), read_minutes(at)
    after = 0 if last is None else last.mark.position
    if connection.vendor == "sqlite":  # whose planner does not take the index of the changes alone
        after = max(after, position - LOOK_BACK)
    lists = read_lists(_ask(at, after=after, with_slow=with_slow))
    processes = read_processes({} if known is None else known.processes, lists)
    alerts = _read_alerts({} if known is None else known.alerts, lists)
    waiting = read_inbox(processes.values(), counts, lists)
    slow: Mapping[str, Section] = (
        {
            "sessions": read_sessions(at, counts=counts, lists=lists),
            "changes": read_change_sets(counts, lists),
            "runtime": read_own_processes(at, queues=beside.queues, position=position, lists=lists),
        }
        if known is None or with_slow
        else {"sessions": known.sessions, "changes": known.changes, "runtime": known.runtime}
    )
    return Parts(
        processes=processes,
        sensors=read_doors(
            lost=counts["lost"],
            is_outage=is_outage(),
            fleet=beside.fleet,
            minutes=minutes,
            lists=lists,
            known=changes,
        ),
        deliveries=read_deliveries(at, counts=counts, minutes=minutes, lists=lists),
        alerts={
            alert.pk: AlertRow(
                alert.pk, alert.kind, in_each_language(partial(getattr, alert, "words")), alert.status, alert.last_at
            )
            for alert in alerts
        },
        engines=beside.engines,
        inbox=waiting.rows,
        beyond=waiting.beyond,
        workflows=read_workflows(counts, lists),
        **slow,
    )


def _ask(at: datetime, *, after: int, with_slow: bool) -> Questions:
    """Return the queries for all lists of the page, of doors what has changed after a position."""
    slow = {**ask_sessions(), **ask_change_sets(), **ask_own_processes(at)} if with_slow else {}
    return {
        "alerts": open_alerts().order_by("-id")[:MOST_ALERTS],
        **ask_processes(),
        **ask_doors(after=after),
        **ask_deliveries(),
        **ask_inbox(),
        **ask_workflows(),
        **slow,
    }


def _read_alerts(known: Mapping[int, AlertRow], lists: Lists) -> list[Alert]:
    """Return the newest open alerts, and what became of each known one that is no longer open."""
    found = [Alert(**row) for row in lists["alerts"]]
    gone = {row.id for row in known.values() if row.status == Alert.Status.OPEN} - {alert.pk for alert in found}
    if gone:
        # Those that newer ones have pushed out are not kept: in a storm of alerts they would be more and more.
        found += Alert.objects.filter(pk__in=gone).exclude(status=Alert.Status.OPEN)
    return found
