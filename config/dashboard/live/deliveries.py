"""The deliveries of the live page: what is due, what is sent a minute, and how sending to each client goes."""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.db.models import Q

from config.common.database.row_lists import Lists, Questions, Row
from config.dashboard.live.counts import MOST_COUNTED
from config.dashboard.live.doors import Minutes
from notifications.models import Delivery, Endpoint
from notifications.names import Named, name_endpoints
from notifications.selectors import count_waiting
from notifications.sending.outcomes import ATTEMPTED

MOST_CLIENTS = 8
_COLUMNS = ("pk", "url", "failures", "opened_at", "probe_at", "active", "paused")


def ask_deliveries() -> Questions:
    """Return the queries for what is pending, for the receivers that fail, and for those that nothing is sent to.

    Those behind an open breaker are the first, and of them who has been silent for longest.
    """
    failing = Endpoint.objects.filter(failures__gt=0, opened_at=None, active=True, paused=False)
    # One that staff have deactivated for good has no reason: it would stand here for ever.
    off = Endpoint.objects.filter(Q(paused=True, active=True) | Q(active=False) & ~Q(off_reason=""))
    pending = Delivery.objects.filter(status=Delivery.Status.PENDING)
    return {
        # Of the first pending ones alone: behind an open breaker may lie a million that are not due.
        "pending": pending.order_by().values("due_at", "endpoint_id")[:MOST_COUNTED],
        "unreachable": Endpoint.objects.unreachable().order_by("opened_at", "pk").values(*_COLUMNS)[:MOST_CLIENTS],
        "failing": failing.order_by("-failures", "pk").values(*_COLUMNS)[:MOST_CLIENTS],
        "off": off.order_by("-pk").values(*_COLUMNS)[:MOST_CLIENTS],
    }


def read_deliveries(at: datetime, *, counts: dict[str, int], minutes: Minutes, lists: Lists) -> dict[str, Any]:
    """Return the part `deliveries`."""
    attempts = {outcome: column for (kind, outcome), column in minutes.items() if kind == ATTEMPTED}
    sent = attempts.get(Delivery.Status.DELIVERED, [])
    failing, off = [*lists["unreachable"], *lists["failing"]], lists["off"]
    busiest = [] if failing else _find_busiest(lists["pending"], but={row["pk"] for row in off})
    failed = [column for outcome, column in attempts.items() if outcome != Delivery.Status.DELIVERED]
    return {
        "pending": counts["pending"],
        "dead": counts["dead"],
        "due": sum(row["due_at"] <= at for row in lists["pending"]),
        "retries": counts["retries"],
        "sent": sum(sent[-2:-1]),
        "failed": sum(column[-2] for column in failed),
        "minutes": sent,
        "clients": _read_clients([*failing, *off, *busiest][:MOST_CLIENTS], at=at),
    }


def _find_busiest(pending: Sequence[Row], *, but: set[int]) -> Sequence[Row]:
    """Return the receivers that most of these deliveries wait for; nobody where these are not all that are pending."""
    if len(pending) >= MOST_COUNTED:
        return ()
    counts = Counter(row["endpoint_id"] for row in pending if row["endpoint_id"] not in but)
    most = [pk for pk, _ in counts.most_common(MOST_CLIENTS)]
    rows = Endpoint.objects.filter(pk__in=most).order_by().values(*_COLUMNS) if most else ()
    return sorted(rows, key=lambda row: most.index(row["pk"]))


def _read_clients(rows: Sequence[Row], *, at: datetime) -> list[dict[str, Any]]:
    """Return receivers, each with its owner and how many deliveries wait for it."""
    ids = [row["pk"] for row in rows]
    owners, waiting = name_endpoints(ids), count_waiting(ids)
    return [_client(row, owners.get(row["pk"]) or Named(row["url"]), waiting[row["pk"]].count, at) for row in rows]


def _client(row: Row, owner: Named, waiting: int, at: datetime) -> dict[str, Any]:
    return {
        "key": row["pk"],
        "name": owner.text,
        "page": owner.page,
        "state": _state(row, at),
        "failures": row["failures"],
        "waiting": waiting,
        "since": row["opened_at"],
        "probe_at": row["probe_at"],
    }


def _state(row: Row, at: datetime) -> str:
    if not row["active"]:
        return "inactive"
    if row["paused"]:
        return "paused"
    if row["opened_at"] is not None:
        return "half_open" if row["probe_at"] <= at else "open"
    return "failing" if row["failures"] else "ok"
