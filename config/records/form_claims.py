"""Forms of the admin that take effect once, though a double click or a reload sends them twice."""

from uuid import UUID

from config.common.errors import Conflict
from config.records.models import IdempotencyRecord


class SentTwice(Conflict):
    """This form has already been sent, and the key or secret was shown then. If it is lost, create a new one."""


def claim_form(form_id: UUID, *, purpose: str) -> None:
    """Mark the form as used, in the caller's transaction; raise `SentTwice` if it was."""
    _, is_first = IdempotencyRecord.objects.get_or_create(
        owner=f"admin:{purpose}", key=form_id.hex, defaults={"digest": form_id.bytes}
    )
    if not is_first:
        raise SentTwice
