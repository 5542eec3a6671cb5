"""Who calls: a bearer key, or a staff member by the browser session."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol, cast

import msgspec
from django.conf import settings
from django.contrib.auth.models import AbstractBaseUser
from django.utils import timezone
from django.utils.module_loading import import_string
from django.utils.translation import gettext_lazy as _
from rest_framework.authentication import BaseAuthentication, SessionAuthentication
from rest_framework.exceptions import AuthenticationFailed, PermissionDenied
from rest_framework.request import Request

from config.access.failed_keys import failed_keys
from config.common.database.sql import as_utc, fetch_row
from config.common.key_text import find_prefix, is_key_of
from config.records.models import AccessKey


class Holder(Protocol):
    """The client, device or database that a key belongs to."""

    @property
    def active(self) -> bool: ...


@dataclass(frozen=True)
class Principal:
    """The key that calls, as views see it; the holder is there for keys of a client, device or database."""

    kind: str
    subject: str
    scopes: frozenset[str]
    actor: str
    holder: Holder | None = field(default=None, repr=False)

    is_authenticated = True
    is_active = True
    is_staff = False

    @property
    def enterprise(self) -> str | None:
        """The enterprise of the device or database; None for other keys."""
        return getattr(self.holder, "enterprise_id", None)


class KeyAuthentication(BaseAuthentication):
    def authenticate(self, request: Request) -> tuple[Principal, AccessKey] | None:
        scheme, _space, text = request.META.get("HTTP_AUTHORIZATION", "").partition(" ")
        if scheme.lower() != "bearer":
            return None
        key = _find_checked(text.strip(), request.META.get("REMOTE_ADDR", ""))
        if key is None:
            raise AuthenticationFailed(_("This key is unknown, expired or revoked."))
        holder = None if key.kind == AccessKey.Kind.SERVICE else _get_holder(key)
        actor = f"key:{key.name} ({key.prefix})"
        return Principal(key.kind, key.subject, frozenset(key.scopes), actor, holder), key

    def authenticate_header(self, request: Request) -> str:
        return "Bearer"


class StaffAuthentication(SessionAuthentication):
    def authenticate(self, request: Request) -> tuple[AbstractBaseUser, None] | None:
        user = getattr(request._request, "user", None)
        if user is None or not user.is_active or not user.is_staff:
            return None
        # Of the plain request: the other one would parse the body for a token, and some views parse their own.
        self.enforce_csrf(request._request)  # type: ignore[arg-type]
        return user, None


def actor_of(request: Request) -> str:
    """Return the caller as the change log names it."""
    if isinstance(request.user, Principal):
        return request.user.actor
    return f"staff:{request.user.get_username()}"


def principal_of(request: Request) -> Principal:
    """Return the key that calls, where only keys may call."""
    if not isinstance(request.user, Principal):
        raise PermissionDenied
    return request.user


def owner_of(request: Request) -> str:
    """Return an id of the caller that stays: names of keys and accounts may change."""
    if isinstance(request.auth, AccessKey):
        return f"key:{request.auth.pk}"
    return f"staff:{request.user.pk}"


def _find_checked(text: str, address: str) -> AccessKey | None:
    """Find the key that a call shows; raise `Throttled` where too many wrong ones have come from that address."""
    failed_keys.check(address, text)
    key = _find_key(text)
    if key is None:
        failed_keys.note_wrong(address, text)
    else:
        failed_keys.note_right(text)
    return key


def _find_key(text: str) -> AccessKey | None:
    """Find a valid key by its text; the object is made from a few columns, to be read and never saved."""
    prefix = find_prefix(text)
    if prefix is None:
        return None
    row = fetch_row("config.access", "find_key", [prefix])
    if row is None:
        return None
    pk, name, kind, subject, scopes, digest, expires_at, ended_at = row
    if ended_at is not None or not is_key_of(text, bytes(digest)):
        return None
    if expires_at is not None and as_utc(expires_at) <= timezone.now():
        return None
    scopes = msgspec.json.decode(scopes)
    return AccessKey(id=pk, name=name, kind=kind, subject=subject, scopes=scopes, prefix=prefix)


def _get_holder(key: AccessKey) -> Holder:
    holder = find_holder(key.kind, key.subject)
    if holder is None:
        raise AuthenticationFailed(_("The owner of this key no longer exists."))
    if not holder.active:
        raise PermissionDenied(_("The owner of this key is inactive."))
    return holder


def find_holder(kind: str, subject: str) -> Holder | None:
    """Find the holder through the app of this kind of key; None where there is no such app."""
    path = settings.KEY_SUBJECTS.get(kind)
    if path is None:
        return None
    find = cast(Callable[[str], Holder | None], import_string(path))
    return find(subject)
