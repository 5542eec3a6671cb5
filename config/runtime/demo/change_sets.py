"""Change sets of the demonstration that a reader refuses, because a row has vanished there."""

import time
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from processes.coordination.reader import models as reader
from processes.coordination.schema.entities import DUMMY_ITEM, Op
from processes.coordination.writer.change_sets import RequestedChange, apply_change_set

READER = "reader_main"
WAIT_SECONDS = 30.0


def play() -> None:
    """Let one change set be taken back, and another that cannot be: a row of it has been changed again since."""
    refused, pallet, crate = _insert("Barrel"), _insert("Pallet"), _insert("Crate")
    _lose_in_reader(refused)
    _rename({refused: "Barrel of oil"})
    _lose_in_reader(pallet)
    _await_in_reader(crate)
    with transaction.atomic():  # at once: the second is there before the first is refused
        _rename({pallet: "Pallet of wood", crate: "Crate of nails"})
        _rename({crate: "Crate of screws"})


def _insert(name: str) -> int:
    return apply_change_set([RequestedChange(DUMMY_ITEM, Op.INSERT, fields={"name": name})], at=timezone.now()).ids[0]


def _rename(names: dict[int, str]) -> None:
    changes = [RequestedChange(DUMMY_ITEM, Op.UPDATE, item, {"name": name}) for item, name in names.items()]
    apply_change_set(changes, at=timezone.now())


def _lose_in_reader(item: int) -> None:
    """Delete the row behind the reader's back, once it has come there."""
    _await_in_reader(item).delete()


def _await_in_reader(item: int) -> QuerySet[Any]:
    rows: QuerySet[Any] = reader.TABLES["DummyItem"].objects.using(READER).filter(pk=item)
    until = time.monotonic() + WAIT_SECONDS
    while not rows.exists() and time.monotonic() < until:
        time.sleep(0.3)
    return rows
