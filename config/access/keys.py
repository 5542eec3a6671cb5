"""Make, end and renew access keys; the text of a key leaves through the return value and is kept nowhere."""

from collections.abc import Iterable
from datetime import datetime
from uuid import UUID

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext

from config.access.authentication import find_holder
from config.access.scopes import Scope
from config.audit.changes import Tracked, Values, record_change, refuse_revert, snapshot, track
from config.common.errors import Conflict, Invalid
from config.common.key_text import make_key
from config.records.form_claims import claim_form
from config.records.models import AccessKey, ChangeRecord

KIND = "key"


class KeyEnded(Conflict):
    """This key has already been revoked. Create a new one."""


def create_key(
    *,
    name: str,
    actor: str,
    kind: str = AccessKey.Kind.SERVICE,
    subject: str = "",
    scopes: Iterable[str] = (),
    expires_at: datetime | None = None,
) -> tuple[AccessKey, str]:
    """Make a key of a service with scopes, or of one client, device or database; return it with its text."""
    chosen = sorted({str(scope) for scope in scopes})
    _check(name=name.strip(), kind=kind, subject=subject, scopes=chosen, expires_at=expires_at)
    made = make_key(kind)
    with transaction.atomic():
        key = AccessKey.objects.create(
            name=name.strip(),
            kind=kind,
            subject=subject,
            scopes=chosen,
            expires_at=expires_at,
            prefix=made.prefix,
            digest=made.digest,
        )
        _record(key, ChangeRecord.Action.CREATED, before=None, actor=actor)
    return key, made.text


def create_key_once(
    *, form_id: UUID, name: str, scopes: list[str], expires_at: datetime | None, actor: str
) -> tuple[AccessKey, str]:
    """Create a service key from a form of the admin: sent twice (a double click, a reload) it makes one key."""
    with transaction.atomic():
        claim_form(form_id, purpose="key-form")
        return create_key(name=name, kind=AccessKey.Kind.SERVICE, scopes=scopes, expires_at=expires_at, actor=actor)


def end_key(*, key: AccessKey, actor: str) -> None:
    """End a key at once and for good; ending it again changes nothing."""
    with transaction.atomic():
        current = _lock(key)
        if current.ended_at is None:
            _end(current, actor=actor)


def rotate_key(*, key: AccessKey, actor: str) -> tuple[AccessKey, str]:
    """Replace a key by a new one with the same rights; the old one ends at once."""
    with transaction.atomic():
        current = _lock(key)
        if current.ended_at is not None:
            raise KeyEnded
        _end(current, actor=actor)
        return create_key(
            name=current.name,
            actor=actor,
            kind=current.kind,
            subject=current.subject,
            scopes=current.scopes,
            expires_at=current.expires_at,
        )


def _lock(key: AccessKey) -> AccessKey:
    return AccessKey.objects.select_for_update().get(pk=key.pk)


def _end(key: AccessKey, *, actor: str) -> None:
    before = snapshot(KIND, key)
    key.ended_at = timezone.now()
    key.save(update_fields=["ended_at"])
    _record(key, ChangeRecord.Action.CHANGED, before=before, actor=actor)


def _record(key: AccessKey, action: ChangeRecord.Action, *, before: Values | None, actor: str) -> None:
    after = snapshot(KIND, key)
    record_change(kind=KIND, object_id=str(key.pk), action=action, before=before, after=after, actor=actor)


def _check(*, name: str, kind: str, subject: str, scopes: list[str], expires_at: datetime | None) -> None:
    """Refuse a key that could never work, naming the field and the rule."""
    fields: dict[str, list[str]] = {}
    if not 1 <= len(name) <= 100 or not name.isprintable():
        fields["name"] = [gettext("Must have 1 to 100 characters, all printable.")]
    if expires_at is not None and expires_at <= timezone.now():
        fields["expires_at"] = [gettext("Must be in the future.")]
    unknown = [scope for scope in scopes if scope not in Scope.values]
    if unknown or (kind == AccessKey.Kind.SERVICE) != bool(scopes):
        known = ", ".join(Scope.values)
        fields["scopes"] = [gettext("Must be one or more of %(known)s, for a service key only.") % {"known": known}]
    if (kind == AccessKey.Kind.SERVICE) != (subject == "") or (subject and find_holder(kind, subject) is None):
        fields["subject"] = [gettext("Must be the id of a registered %(kind)s.") % {"kind": kind}]
    if fields:
        raise Invalid(fields)


track(
    Tracked(
        kind=KIND,
        fields=("name", "kind", "subject", "scopes", "prefix", "expires_at", "ended_at"),
        find=lambda object_id: AccessKey.objects.select_for_update().filter(pk=object_id).first(),
        restore=refuse_revert,  # a key that has ended stays ended
    )
)
