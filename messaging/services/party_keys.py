"""The keys of devices and databases."""

from dataclasses import dataclass, field

from config.access.keys import create_key, end_key
from config.records.models import AccessKey


@dataclass(frozen=True)
class NewKey:
    """A new key, to be shown once; its text is stored nowhere."""

    party_id: str
    row: AccessKey
    text: str = field(repr=False)


def make_party_key(kind: AccessKey.Kind, party_id: str, *, actor: str) -> NewKey:
    """Create a key for a device or database; it is named after the id, since a name may change."""
    row, text = create_key(name=f"{kind} {party_id}", kind=kind, subject=party_id, actor=actor)
    return NewKey(party_id, row, text)


def replace_party_keys(kind: AccessKey.Kind, party_id: str, *, actor: str) -> NewKey:
    """End all keys of a device or database and create a new one; the caller has locked its row."""
    for key in AccessKey.objects.filter(kind=kind, subject=party_id, ended_at=None).order_by("pk"):
        end_key(key=key, actor=actor)
    return make_party_key(kind, party_id, actor=actor)
