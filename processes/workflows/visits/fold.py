"""Add the visits of steps to the totals of their elements: off the path of commands, in batches, each step once.

A batch is taken, added and deleted in one transaction, so whoever dies in it has done nothing. Two at once take
different steps, and add them in the same order of rows, so that neither waits for the other crosswise.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from functools import reduce
from operator import or_

import msgspec
from django.db import transaction
from django.db.models import Q, QuerySet

from config.common.database.sql import bulk_execute, in_number_array
from processes.workflows.engine.execution.visits import Visit
from processes.workflows.heads import PACKAGE
from processes.workflows.models import StepVisits, VisitTotal, WorkflowRevision
from processes.workflows.models.visits import ENTERED, EVER, STANDING
from processes.workflows.visits.bands import find_band

BATCH = 2000
KEPT = {VisitTotal.Span.HOUR: timedelta(hours=26), VisitTotal.Span.DAY: timedelta(days=32)}
"""How long totals are kept: a little longer than the periods that are read from them."""

Called = tuple[str, int]
"""The key of a definition and its revision."""
Key = tuple[int, str, datetime, str, int]
"""The unique columns of a total."""
_decode = msgspec.json.Decoder(list[Visit]).decode


def fold_visits() -> bool:
    """Add the oldest steps that wait to the totals; return whether there may be more."""
    if not StepVisits.objects.exists():
        return False  # without a transaction, which on SQLite would keep others from writing
    with transaction.atomic():
        waiting = StepVisits.objects.select_for_update(skip_locked=True).order_by("pk")
        rows = list(waiting[:BATCH].values_list("pk", "at", "visits"))
        if not rows:
            return False
        steps = [(at, _decode(visits)) for _, at, visits in rows]
        totals = add_up(steps, _find_revisions(steps))
        bulk_execute(PACKAGE, "add_visits", [(*key, *totals[key]) for key in sorted(totals)])
        StepVisits.objects.filter(pk__in=in_number_array([pk for pk, _, _ in rows])).delete()
    return len(rows) == BATCH


def expire_visits(now: datetime) -> None:
    """Delete the totals of hours and days that no period reads any more; those of all time stay."""
    for span, length in KEPT.items():
        VisitTotal.objects.filter(span=span, at__lt=now - length).delete()


def add_up(
    steps: Iterable[tuple[datetime, Sequence[Visit]]], revisions: dict[Called, tuple[int, datetime]]
) -> dict[Key, tuple[int, float]]:
    """Return what these steps add to the totals, counts and seconds; revisions come with when their counting began."""
    counts: Counter[Key] = Counter()
    seconds: defaultdict[Key, float] = defaultdict(float)
    for at, visits in steps:
        for visit in visits:
            found = revisions.get((visit.definition, visit.revision))
            if found is None:
                continue  # a revision that is gone has no figures
            revision, counted_from = found
            for band, count, length in _count(visit, at):
                for key in _keys(revision, visit.element, at, band):
                    counts[key] += count
                    seconds[key] += length
            standing = _count_standing(visit, counted_from)
            if standing:
                counts[(revision, VisitTotal.Span.EVER.value, EVER, visit.element, STANDING)] += standing
    return {key: (count, seconds[key]) for key, count in counts.items() if count}


def _count(visit: Visit, at: datetime) -> Iterable[tuple[int, int, float]]:
    """Yield what a visit adds, by band."""
    if visit.entered:
        yield ENTERED, visit.entered, 0.0
    if visit.passed:
        yield find_band(0), visit.passed, 0.0
    for since in visit.left:
        # A clock that was set back must not make a stay negative.
        stay = max(0.0, (at - datetime.fromisoformat(since)).total_seconds())
        yield find_band(stay), 1, stay


def _keys(revision: int, element: str, at: datetime, band: int) -> Iterable[Key]:
    hour = at.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
    spans = VisitTotal.Span
    yield revision, spans.HOUR.value, hour, element, band
    yield revision, spans.DAY.value, hour.replace(hour=0), element, band
    yield revision, spans.EVER.value, EVER, element, band


def _count_standing(visit: Visit, counted_from: datetime) -> int:
    """Return how many more stand there; what came before anything was counted does not count when it goes."""
    came, gone = (
        sum(datetime.fromisoformat(since) >= counted_from for since in each)
        for each in (visit.came, (*visit.left, *visit.moved))
    )
    return came - gone


def _find_revisions(steps: Sequence[tuple[datetime, Sequence[Visit]]]) -> dict[Called, tuple[int, datetime]]:
    """Return the ids of the revisions that these steps name, each with the time from which visits are counted."""
    called = {(visit.definition, visit.revision) for _, visits in steps for visit in visits}
    named = reduce(or_, (Q(definition=key, number=number) for key, number in sorted(called)))
    rows = WorkflowRevision.objects.filter(named)
    if rows.filter(counted_from=None).exists():
        _begin_counting(rows, min(at for at, _ in steps))
    found = rows.values_list("definition_id", "number", "pk", "counted_from")
    return {(key, number): (pk, counted_from) for key, number, pk, counted_from in found if counted_from is not None}


def _begin_counting(rows: QuerySet[WorkflowRevision], first: datetime) -> None:
    """Set the time from which visits are counted where it is not set: the same for all revisions, and for ever.

    Instances move between revisions with what stands in them, which counts in both or in neither.
    """
    # The oldest revision stands for all: of two at once the second waits here and takes the time of the first.
    WorkflowRevision.objects.select_for_update(no_key=True).order_by("pk").values_list("pk").first()
    known = WorkflowRevision.objects.exclude(counted_from=None).values_list("counted_from", flat=True).first()
    rows.filter(counted_from=None).update(counted_from=known or first)
