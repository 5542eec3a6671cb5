"""Fill an empty, migrated PostgreSQL database, part by part; every row obeys the checks of its table."""

import time
from collections.abc import Callable
from datetime import timedelta

from django.apps import apps
from django.contrib.auth.models import User
from django.db import connection
from django.utils import timezone

from bench.volume import exchange, notifications, processes, registry
from bench.volume.sizes import Sizes
from bench.volume.spread import settle, without_key_checks
from config.common.database.partitions import ensure_partitions
from config.runtime.upkeep import load_schedule
from notifications.models import Attempt, Event
from sensors.models import RejectedSignal

DAYS = 7
"""The rows of tables with daily partitions lie in so many days up to now."""
STEPS = (
    registry.fill_clients,
    registry.fill_sensors,
    registry.fill_rejected,
    registry.fill_records,
    notifications.fill_events,
    notifications.fill_deliveries,
    notifications.count_delivery_totals,
    notifications.fill_alerts,
    notifications.fill_sessions,
    exchange.fill_parties,
    exchange.fill_messages,
    exchange.count_totals,
    processes.fill_instances,
    processes.fill_drafts,
    processes.fill_batches,
    processes.fill_shadow,
    processes.fill_change_sets,
)


def fill(sizes: Sizes, *, tell: Callable[[str], None] = lambda line: None) -> None:
    """Fill the database; `tell` is called with a line for every part."""
    if connection.vendor != "postgresql":
        raise RuntimeError("a large database is made on PostgreSQL alone")
    today = timezone.now().date()
    for model in (Event, Attempt, RejectedSignal):
        for ago in range(DAYS + 1):
            ensure_partitions(model, today=today - timedelta(days=ago))
    load_schedule()
    User.objects.bulk_create(User(username=f"person{n}", is_staff=True) for n in range(min(sizes.few, 200)))
    with without_key_checks():
        for step in STEPS:
            began = time.monotonic()
            step(sizes)
            tell(f"{step.__name__.removeprefix('fill_')}: {time.monotonic() - began:.1f} s")
    settle(*(model for model in apps.get_models() if model._meta.app_label != "coordination_reader"))
