"""Create a key from a form of the admin: sent twice (a double click, a reload) it makes one key."""

from datetime import datetime
from uuid import UUID

from django.db import transaction

from config.records.models import AccessKey
from config.records.services.keys import create_key
from config.records.services.once import claim_form


def create_key_once(
    *, form_id: UUID, name: str, scopes: list[str], expires_at: datetime | None, actor: str
) -> tuple[AccessKey, str]:
    """Create a service key and return it with its text, which is kept nowhere."""
    with transaction.atomic():
        claim_form(form_id, purpose="key-form")
        return create_key(name=name, kind=AccessKey.Kind.SERVICE, scopes=scopes, expires_at=expires_at, actor=actor)
