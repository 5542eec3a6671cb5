"""The log of operations: what operators look up afterwards, written in the transaction of what it tells."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db import transaction
from django.utils import timezone, translation

from config.common.correlation import correlation_id
from config.common.database.sql import bulk_execute
from config.common.text import clean_text, encode_clean
from config.common.text_templates import render_text
from config.common.times import truncate_to_milliseconds


@dataclass(frozen=True)
class NewLogEntry:
    """One entry to be written; `template` is a source text of `gettext` that names keys of `data` as `%(name)s`."""

    level: str
    kind: str
    template: str
    data: Mapping[str, Any] = field(default_factory=dict)
    subject: str = ""
    at: datetime | None = None
    """Now, if it is not given."""
    correlation_id: str | None = None
    """That of the running call or job, if it is not given."""
    fold: str = ""
    """Entries of one fold are counted on one row, which keeps the time and the words of the first."""
    count: int = 1


def write_log_entry(
    *,
    level: str,
    kind: str,
    template: str,
    subject: str = "",
    data: Mapping[str, Any] | None = None,
    at: datetime | None = None,
) -> None:
    """Write one entry in the caller's transaction; see `Entry` for its words."""
    write_log_entries([NewLogEntry(level, kind, template, data or {}, subject, at)])


def write_log_entries(entries: Iterable[NewLogEntry]) -> None:
    """Write entries in one statement, in the caller's transaction. A fold may stand among them once.

    Whoever writes folds sorts by them: two that write the same ones at once would otherwise wait in a circle.
    """
    now, chain = timezone.now(), correlation_id()
    with translation.override("en"):
        rows = [_row(entry, now, chain) for entry in entries]
    with transaction.atomic(savepoint=False):  # for SQLite, which writes row by row
        bulk_execute("config.audit", "write_log", rows)


def _row(entry: NewLogEntry, now: datetime, chain: str) -> tuple[Any, ...]:
    return (
        truncate_to_milliseconds(entry.at or now),
        str(entry.level),
        str(entry.kind),
        clean_text(entry.subject),
        entry.template,
        encode_clean(entry.data),
        clean_text(render_text(entry.template, entry.data)),
        chain if entry.correlation_id is None else entry.correlation_id,
        entry.fold,
        entry.count,
    )
