"""The sensors of large clients as a table of ClickHouse: they are sent there now and then, not with each question.

The database says which sensors a client has. A set is what it said when the set was made; the sensors whose links have
changed since are asked for again with each question, so every answer is about the links of that moment. ClickHouse may
lose a set at any time: another one is made.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from clickhouse_driver.util.escape import escape_param
from django.db.models import QuerySet
from django.utils import timezone

from config.common.database.sql import in_array
from config.common.times import from_milliseconds, to_milliseconds
from sensors.models import LinkRecord, SensorClient

LIFETIME = timedelta(hours=6)
"""For so long a set is used. What lasts no longer than it may be wrong after a backup of the database was restored."""
KEPT_DAYS = 2
"""Days before today whose sets are left alone: more than the lifetime, so that none goes while it is being read."""
LONGEST_TRANSACTION = timedelta(hours=1)
"""A link may become visible so long after the time of its record."""
MOST_CHANGED = 1000
"""If more links have changed since a set was made, another one is made."""


@dataclass(frozen=True)
class ClientSet:
    """Sensors as a part of a statement: those of a set without the changed ones, and the changed that are linked."""

    client_id: int
    made: int
    records: int
    """Of two sets that were made at once, each is found by the number of records that it knew."""
    changed: Sequence[str] = ()
    linked: Sequence[str] = ()

    def __str__(self) -> str:
        left_out = escape_param(("", *self.changed), None)
        parts = [
            f"SELECT sensor_id FROM client_sensors WHERE client_id = {self.client_id} AND made = {self.made} "
            f"AND records = {self.records} AND sensor_id NOT IN {left_out}"
        ]
        if self.linked:
            parts.append(f"SELECT arrayJoin({escape_param(list(self.linked), None)}) AS sensor_id")
        return f"({' UNION ALL '.join(parts)})"


class ClientSets:
    def __init__(
        self,
        *,
        ask: Callable[..., list[tuple[Any, ...]]],
        insert: Callable[[list[list[Any]]], None],
        drop: Callable[[str], None],
    ) -> None:
        self._ask, self._insert, self._drop = ask, insert, drop

    def find_or_make(self, client_id: int) -> ClientSet:
        """Return the sensors that a client has now."""
        now = timezone.now()
        return self._find(client_id, now) or self._make(client_id, now)

    def _find(self, client_id: int, now: datetime) -> ClientSet | None:
        since = to_milliseconds(now - LIFETIME)
        found = self._ask("find_client_set", {"client": client_id, "since": since})
        if not found:
            return None
        made, known = found[0]
        records = _records_around(client_id, made)
        if records.count() == known:
            return ClientSet(client_id, made, known)
        changed = list(records.values_list("sensor_id", flat=True)[: MOST_CHANGED + 1])
        if len(changed) > MOST_CHANGED:
            return None
        linked = SensorClient.objects.filter(client_id=client_id, sensor_id__in=in_array(changed))
        return ClientSet(client_id, made, known, changed, list(linked.values_list("sensor_id", flat=True)))

    def _make(self, client_id: int, now: datetime) -> ClientSet:
        first_kept = f"{now - timedelta(days=KEPT_DAYS):%Y%m%d}"
        for (day,) in self._ask("list_client_set_days"):
            if day < first_kept:
                self._drop(day)
        made = to_milliseconds(now)
        # Counted before the links are read: what is committed in between is looked at again, what was before is not.
        known = _records_around(client_id, made).count()
        links = SensorClient.objects.filter(client_id=client_id)
        # The mark comes last: a set that was cut off is nobody's.
        for ids in (list(links.values_list("sensor_id", flat=True)), [""]):
            same = (int(f"{now:%Y%m%d}"), client_id, made, known)
            day, client, since, records = ([value] * len(ids) for value in same)
            self._insert([day, client, since, ids, records])
        return ClientSet(client_id, made, known)


def _records_around(client_id: int, made: int) -> QuerySet[LinkRecord]:
    """Return the records of the links that may have changed since a set was made."""
    since = from_milliseconds(made) - LONGEST_TRANSACTION
    return LinkRecord.objects.filter(client_id=client_id, at__gte=since).order_by()
