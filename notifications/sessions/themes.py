"""Themes: who repeats the sessions of a number, how often and how long."""

from dataclasses import asdict, dataclass, replace
from typing import Any

from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext, gettext_noop

from config.audit.changes import record_change
from config.common.encryption import encrypt
from config.common.errors import Invalid
from config.common.times import format_time
from config.records.models import ChangeRecord
from notifications.errors import NothingToSign, ThemeInUse, ThemeNotFound, ThemeTaken
from notifications.models import RepeatSession, Theme
from notifications.models.session import OWN_THEMES_FROM
from notifications.sending.secret_rotation import OVERLAP, rotate_secret_of
from notifications.sending.signing import make_secret
from notifications.sending.webhook_url import is_webhook_url
from notifications.sessions.enqueue import enqueue_session
from notifications.sessions.handlers import is_registered
from notifications.sessions.theme_health import reset_theme_breaker

KIND = "theme"
LONGEST_TIMEOUT = 86_400.0
LONGEST_DELAY = 10 * 365 * 86_400.0
MOST_REPEATS = 1_000_000
MOST_BYTES = 16 * 1_048_576
# The product's own theme: twelve repeats within two and a half hours; an operator may retry sooner, and after that.
INCIDENTS = OWN_THEMES_FROM + 1
INCIDENT_HANDLER = "incidents"
INCIDENT_VALUES = {"timeout": 60, "repeat_limit": 12, "delay": 600, "jitter": 120, "length_limit": 1000}
NO_SECRETS = {"secret": None, "old_secret": None, "old_secret_until": None}


@dataclass(frozen=True)
class ThemeValues:
    timeout: float = 60
    repeat_limit: int = 10
    length_limit: int = 65_536
    delay: float = 60
    jitter: float = 0
    handler: str | None = None
    url: str | None = None


def create_theme(*, number: int, actor: str, **values: Any) -> str | None:
    """Register a theme; return the secret that signs the calls of its URL, this once."""
    new = ThemeValues(**values)
    if not 0 <= number < OWN_THEMES_FROM:
        raise Invalid({"theme": [gettext("Must be a whole number from 0 to 1999999999.")]})
    check_values(new)
    secret = make_secret() if new.url else None
    try:
        with transaction.atomic():
            Theme.objects.create(number=number, **_columns(new), **_secret_column(secret))
            _record_change(number, None, new, actor=actor)
    except IntegrityError as error:
        raise ThemeTaken(theme=number) from error
    return secret


def update_theme(*, number: int, actor: str, **edits: Any) -> str | None:
    """Change these values of a theme; return a new secret if it has a URL for the first time."""
    with transaction.atomic():
        theme = _lock_theme(number, no_key=True)
        before = values_of(theme)
        new = replace(before, **edits)
        check_values(new)
        secret = make_secret() if new.url and not before.url else None
        secrets = NO_SECRETS if not new.url else _secret_column(secret)
        Theme.objects.filter(pk=number).update(**_columns(new), **secrets)
        if (new.handler, new.url) != (before.handler, before.url) and theme.failures:
            reset_theme_breaker(theme, gettext_noop("another handler now processes its sessions"))
        if new != before:
            _record_change(number, before, new, actor=actor)
    return secret


def rotate_secret(*, number: int, actor: str) -> str:
    """Rotate the secret that signs the calls of a theme's URL; the old one signs beside it for another day."""
    with transaction.atomic():
        theme = _lock_theme(number, no_key=True)
        if not theme.url:
            raise NothingToSign(theme=number)
        secret = rotate_secret_of(theme, at=timezone.now())
        assert theme.old_secret_until is not None
        rotated = {"rotated_at": format_time(theme.old_secret_until - OVERLAP)}
        record_change(
            kind=KIND,
            object_id=str(number),
            action=ChangeRecord.Action.CHANGED,
            before={"rotated_at": None},
            after=rotated,
            actor=actor,
        )
    return secret


def delete_theme(*, number: int, actor: str) -> None:
    """Delete a theme that has no sessions; the product's own stay."""
    with transaction.atomic():
        # Not `no_key`: this waits for sessions that are being inserted, whose foreign key locks the key of the theme.
        theme = _lock_theme(number)
        if number >= OWN_THEMES_FROM or RepeatSession.objects.filter(theme=theme).exists():
            raise ThemeInUse(theme=number)
        before = values_of(theme)
        reset_theme_breaker(theme, gettext_noop("the theme was deleted"))
        Theme.objects.filter(pk=number).delete()
        _record_change(number, before, None, actor=actor)


def _lock_theme(number: int, *, no_key: bool = False) -> Theme:
    rows = Theme.objects.select_for_update(no_key=no_key)
    theme = rows.filter(pk=number).first() if 0 <= number < 2**31 else None
    if theme is None:
        raise ThemeNotFound
    return theme


def values_of(theme: Theme) -> ThemeValues:
    return ThemeValues(
        timeout=theme.timeout,
        repeat_limit=theme.repeat_limit,
        length_limit=theme.length_limit,
        delay=theme.delay,
        jitter=theme.jitter,
        handler=theme.handler or None,
        url=theme.url or None,
    )


def check_values(values: ThemeValues) -> None:
    """Raise `Invalid` for what no theme can be; bounds of numbers are in serializers, forms and the database."""
    if bool(values.handler) == bool(values.url):
        rule = gettext("Specify exactly one of handler and url.")
        raise Invalid({"handler": [rule], "url": [rule]})
    if values.handler and not is_registered(values.handler):
        raise Invalid({"handler": [gettext("No handler with this name is registered.")]})
    if values.url and not is_webhook_url(values.url):
        raise Invalid(
            {"url": [gettext("Must be an http or https URL with a host, without a user name, at most 500 characters.")]}
        )


def _columns(values: ThemeValues) -> dict[str, Any]:
    return {**asdict(values), "handler": values.handler or "", "url": values.url or ""}


def _secret_column(secret: str | None) -> dict[str, bytes]:
    return {} if secret is None else {"secret": encrypt(secret.encode())}


def _record_change(number: int, before: ThemeValues | None, after: ThemeValues | None, *, actor: str) -> None:
    actions = ChangeRecord.Action
    record_change(
        kind=KIND,
        object_id=str(number),
        action=actions.CREATED if before is None else actions.DELETED if after is None else actions.CHANGED,
        before=None if before is None else asdict(before),
        after=None if after is None else asdict(after),
        actor=actor,
    )


def enqueue_incident_retry(incident_id: int) -> None:
    """Enqueue a session that retries an incident, in the transaction that sets its event aside."""
    Theme.objects.get_or_create(number=INCIDENTS, defaults={"handler": INCIDENT_HANDLER, **INCIDENT_VALUES})
    enqueue_session(theme=INCIDENTS, records=[{"incident": incident_id}])
