"""Create a key from a form of the admin: sent twice (a double click, a reload) it makes one key."""

from datetime import datetime
from uuid import UUID

from django.db import transaction

from config.common.errors import Conflict
from config.records.models import AccessKey, IdempotencyRecord
from config.records.services.keys import create_key

OWNER = "admin:key-form"


class FormSentTwice(Conflict):
    """This form has been sent before, and its key was shown then. If it is lost, end that key and make another."""


def create_key_once(
    *, form_id: UUID, name: str, scopes: list[str], expires_at: datetime | None, actor: str
) -> tuple[AccessKey, str]:
    """Create a service key and return it with its text, which is kept nowhere."""
    with transaction.atomic():
        _, is_first = IdempotencyRecord.objects.get_or_create(
            owner=OWNER, key=form_id.hex, defaults={"digest": form_id.bytes}
        )
        if not is_first:
            raise FormSentTwice
        return create_key(name=name, kind=AccessKey.Kind.SERVICE, scopes=scopes, expires_at=expires_at, actor=actor)
