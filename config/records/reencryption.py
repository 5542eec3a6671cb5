"""Re-encrypt stored secrets under the first of `FIELD_KEYS`, so that an older key can be dropped.

Batch by batch in short transactions, while everything runs; what is done is not done again, so that it may be stopped
at any time. Apps name their columns at start (`register_encrypted`).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from django.apps import apps
from django.db import transaction
from django.db.models import Model

from config.common.encryption import Encrypted, Undecipherable, encrypted_columns, is_current, rotate

BATCH = 200


@dataclass
class Report:
    changed: int = 0
    unreadable: int = 0
    """Values of a key that `FIELD_KEYS` no longer holds."""


def reencrypt(progress: Callable[[str, int], None] = lambda label, rows: None) -> Report:
    report = Report()
    for columns in encrypted_columns():
        seen = 0
        for batch in _batches(columns):
            seen += len(batch)
            stale = [row.pk for row in batch if any(not is_current(value) for _, value in _values(row, columns))]
            if stale:
                _rewrite(columns, stale, report)
            progress(columns.model, seen)
    return report


def _batches(columns: Encrypted) -> Iterator[list[Model]]:
    """Go through the table by its key, without locks."""
    rows = apps.get_model(columns.model)._default_manager.order_by("pk").only("pk", *columns.fields)
    batch = list(rows[:BATCH])
    while batch:
        yield batch
        batch = list(rows.filter(pk__gt=batch[-1].pk)[:BATCH])


@transaction.atomic
def _rewrite(columns: Encrypted, pks: list[int], report: Report) -> None:
    """Read the rows again under lock: a secret that was rotated meanwhile must not come back."""
    rows = apps.get_model(columns.model)._default_manager.filter(pk__in=pks).order_by("pk").select_for_update()
    for row in rows.only("pk", *columns.fields):
        for name, value in _values(row, columns):
            try:
                setattr(row, name, rotate(value))
            except Undecipherable:
                report.unreadable += 1
                continue
            row.save(update_fields=[name])
            report.changed += 1


def _values(row: Model, columns: Encrypted) -> list[tuple[str, bytes]]:
    # An address that is not signed for has an empty secret.
    held = ((name, getattr(row, name)) for name in columns.fields)
    return [(name, bytes(value)) for name, value in held if value]
