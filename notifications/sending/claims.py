"""Claim due deliveries, as many as there are free slots: first attempts before retries, endpoint after endpoint.

A claim counts the attempt before it is made, moves the deadline past the lease and raises the fence: if the sender
dies, the row is due again when the lease ends. URL, secrets, pause and breaker are read with the claim, and whether the
delivery is still relevant is checked in its transaction.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import connection, transaction
from django.db.models.functions import Now

from config.common.database import sql
from config.common.database.sql import in_number_array
from config.common.encryption import decrypt
from notifications.models import Delivery, ListedSubject
from notifications.sending import claims_sqlite
from notifications.sending.relevance import find_cancel_reasons

LEASE = timedelta(seconds=30)
"""Three times the longest attempt, because deliveries that are claimed ahead wait for a slot too."""


@dataclass(frozen=True, slots=True)
class Claim:
    """One attempt to make, with all that it needs."""

    id: int
    fence: int
    endpoint_id: int
    type: str
    family: str
    subject: str
    body: str
    attempts: int
    superseded_by_id: int | None
    correlation_id: str
    is_probe: bool
    url: str
    secret: bytes
    old_secret: bytes | None
    was_failing: bool
    """Whether the endpoint was known to fail: then a success changes its row."""
    number: int
    """The number of this attempt of the delivery, probes included."""
    message_id: UUID | None

    @property
    def webhook_id(self) -> str:
        """The id that the receiver sees: the same over retries and resends. Rows of old releases have their number."""
        return str(self.id if self.message_id is None else self.message_id)

    @property
    def is_webhook(self) -> bool:
        """Whether the receiver itself answers; for mail and SMS it is a server in between that does."""
        return self.url.startswith("http")

    def secrets(self) -> list[str]:
        """Return what signs the message, the newest first."""
        return [_decrypt(bytes(each)) for each in (self.secret, self.old_secret) if each]


# A busy endpoint has the same secret for thousands of deliveries.
@lru_cache(maxsize=1000)
def _decrypt(secret: bytes) -> str:
    return decrypt(secret).decode()


class Claimer:
    """Claims for one sender, each behind the endpoint at which the last one stopped, so that all have a turn."""

    def __init__(self) -> None:
        self._after = {False: 0, True: 0}

    def claim(self, limit: int) -> list[Claim]:
        """Claim up to `limit` deliveries and return those that are to be sent now."""
        with transaction.atomic():
            found: list[Claim] = []
            for is_retry in (False, True):
                if len(found) < limit:
                    found += self._claim_kind(is_retry, limit - len(found))
            return _drop_irrelevant(found)

    def _claim_kind(self, is_retry: bool, limit: int) -> list[Claim]:
        after = self._after[is_retry]
        found = _claim_after(after, is_retry, limit)
        # Once around: what lies before the endpoint at which the last claim stopped.
        if after and len(found) < limit:
            found += _claim_after(0, is_retry, limit - len(found))
        self._after[is_retry] = max((each.endpoint_id for each in found), default=0) if len(found) == limit else 0
        return found


def is_claim_current(claim: Claim) -> bool:
    """Return whether a claim still stands in the database: row pending, fence unchanged, lease not over."""
    rows = Delivery.objects.filter(pk=claim.id, fence=claim.fence, status=Delivery.Status.PENDING)
    return rows.filter(under_way_until__gt=Now()).exists()


def _claim_after(after: int, is_retry: bool, limit: int) -> list[Claim]:
    if connection.vendor != "postgresql":
        rows = claims_sqlite.claim_rows(after, is_retry=is_retry, limit=limit, lease=LEASE)
        return [Claim(*row) for row in rows]
    with sql.postgresql_cursor() as cursor:
        cursor.execute(
            sql.load_sql("notifications", "claim_deliveries.postgresql"),
            {
                "after": after,
                "is_retry": is_retry,
                "limit": limit,
                "lease": LEASE.total_seconds(),
                "slots": settings.DELIVERY_SLOTS_PER_CLIENT,
            },
            prepare=True,  # planning it takes longer than running it
        )
        rows = cursor.fetchall()
    # `UPDATE … RETURNING` has no order: the oldest is sent first.
    return sorted((Claim(*row) for row in rows), key=lambda each: each.id)


def _drop_irrelevant(found: Sequence[Claim]) -> list[Claim]:
    """Finish at once what a newer delivery has superseded meanwhile, and what is not relevant any more."""
    superseded = {each.id for each in found if each.superseded_by_id is not None}
    reasons = find_cancel_reasons(
        (each.id, each.endpoint_id, each.subject) for each in found if each.id not in superseded
    )
    _end(superseded, status=Delivery.Status.SUPERSEDED)
    for reason, group in itertools.groupby(sorted(reasons, key=lambda pk: reasons[pk]), key=lambda pk: reasons[pk]):
        _end(set(group), status=Delivery.Status.CANCELLED, reason=reason)
    return [each for each in found if each.id not in superseded and each.id not in reasons]


def _end(pks: set[int], **changes: Any) -> None:
    if pks:
        Delivery.objects.filter(pk__in=in_number_array(pks)).update(due_at=None, under_way_until=None, **changes)
        ListedSubject.objects.filter(delivery__in=in_number_array(pks)).update(is_open=False)
