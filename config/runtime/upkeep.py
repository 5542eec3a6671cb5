"""Load the table of upkeep into the database, and run its entries where there is no beat."""

import json
from datetime import UTC, datetime

import structlog
from django.db import transaction
from django.db.models import F
from django.utils import timezone
from django_celery_beat.models import CrontabSchedule, PeriodicTask

from config.schedule import SCHEDULE, Upkeep, get_upkeep

log = structlog.get_logger(__name__)

TASK = "run_upkeep"


def run_upkeep(name: str) -> None:
    """Run the upkeep of that name."""
    get_upkeep(name).run()
    log.info("upkeep.done", upkeep=name)


def run_upkeep_when_prepared() -> None:
    """Run the entries that the very first calls already rely on."""
    for upkeep in SCHEDULE:
        if upkeep.when_prepared:
            upkeep.run()


@transaction.atomic
def load_schedule(schedule: tuple[Upkeep, ...] = SCHEDULE) -> None:
    """Add what is new and remove what is no longer in the table; what staff may have changed stays as it is."""
    known = {upkeep.name for upkeep in schedule}
    for row in PeriodicTask.objects.filter(task=TASK):
        if _upkeep_of(row) not in known:
            row.delete()
    present = set(PeriodicTask.objects.values_list("name", flat=True))
    for upkeep in schedule:
        if upkeep.name not in present:
            _add(upkeep)


def _upkeep_of(row: PeriodicTask) -> str:
    """Return the name of the upkeep that a row starts; empty where staff have mistyped it."""
    try:
        [name] = json.loads(row.args)
    except (ValueError, TypeError):
        return ""
    return str(name)


def _add(upkeep: Upkeep) -> None:
    times = CrontabSchedule.from_schedule(upkeep.at)
    times.save()
    PeriodicTask.objects.create(
        name=upkeep.name,
        task=TASK,
        args=json.dumps([upkeep.name]),
        crontab=times,
        description=upkeep.sentence,
    )


def run_next_due() -> bool:
    """Run one entry that is due; return whether there was one. Stands in for beat where there is no broker."""
    for row in PeriodicTask.objects.filter(task=TASK, enabled=True).order_by("pk"):
        if _is_due(row) and _take(row, at=timezone.now()):
            run_upkeep(_upkeep_of(row))
            return True
    return False


def _is_due(row: PeriodicTask) -> bool:
    now = timezone.now()
    if (row.start_time and now < row.start_time) or (row.expires and now >= row.expires):
        return False
    if row.one_off and row.total_run_count:
        return False
    last = row.last_run_at or row.date_changed
    return bool(row.schedule.is_due(last.astimezone(UTC)).is_due)


def _take(row: PeriodicTask, *, at: datetime) -> bool:
    """Claim the run by moving its mark, unless another scheduler was first; return whether it is ours.

    The mark moves first: an entry that fails waits for its next time instead of failing in a loop.
    """
    unchanged = PeriodicTask.objects.filter(pk=row.pk, enabled=True, last_run_at=row.last_run_at)
    return bool(unchanged.update(last_run_at=at, total_run_count=F("total_run_count") + 1))
