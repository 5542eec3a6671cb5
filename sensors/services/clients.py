"""Register, change, pause and deactivate clients, and replace the secrets that sign what they are sent."""

from dataclasses import dataclass, fields, replace
from datetime import datetime
from typing import Unpack

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext_noop

from config.audit.changes import NotRevertible, Tracked, Values, snapshot, track
from config.common.encryption import encrypt
from config.common.errors import Invalid
from config.common.times import parse_time, truncate_to_milliseconds
from notifications.models import Endpoint
from notifications.sending.secret_rotation import OVERLAP, rotate_secret_of
from notifications.sending.signing import make_secret
from notifications.services.endpoints import close_unreachable_alert, reset_breaker
from notifications.services.registry_changes import RegistryChange, record_registry_changes
from sensors.errors import ClientNotFound
from sensors.heartbeat.withheld_losses import recheck_withheld_losses
from sensors.models import Client, SensorClient
from sensors.services.cancellation import cancel_client_deliveries
from sensors.services.rules import client_faults
from sensors.services.values import ClientEdits, ClientValues

KIND = "client"
FIELDS = tuple(field.name for field in fields(ClientValues))


@dataclass(frozen=True)
class NewSecret:
    """A secret on its way out: it leaves through this value and is kept encrypted alone."""

    client_id: int
    text: str


def create_client(*, actor: str, **values: Unpack[ClientEdits]) -> NewSecret:
    """Register a client with its endpoint; return the secret, which is shown this once."""
    wanted = _tidy(ClientValues(**values))
    _check(wanted)
    text = make_secret()
    with transaction.atomic():
        endpoint = Endpoint.objects.create(
            url=wanted.url, secret=encrypt(text.encode()), active=wanted.active, paused=wanted.paused
        )
        client = Client.objects.create(
            name=wanted.name, endpoint=endpoint, active=wanted.active, muted_until=wanted.muted_until
        )
        _tell(client.pk, None, wanted, actor=actor)
    return NewSecret(client.pk, text)


def update_client(*, client_id: int, actor: str, **edits: Unpack[ClientEdits]) -> None:
    """Change what is named; what is as it was leaves no trace."""
    with transaction.atomic():
        client = _hold(client_id)
        _write(client, _tidy(replace(values_of(client), **edits)), actor=actor)


def deactivate_client(*, client_id: int, actor: str) -> None:
    """Tell a client nothing any more; what is still pending is cancelled, its history stays."""
    update_client(client_id=client_id, actor=actor, active=False)


def pause_client(*, client_id: int, actor: str) -> None:
    """Hold back what is owed to a client until it is resumed."""
    update_client(client_id=client_id, actor=actor, paused=True)


def resume_client(*, client_id: int, actor: str) -> None:
    update_client(client_id=client_id, actor=actor, paused=False)


def rotate_secret(*, client_id: int, actor: str) -> NewSecret:
    """Replace the secret; the old one signs beside the new one for another day."""
    with transaction.atomic():
        client = _hold(client_id)
        before = values_of(client)
        text = rotate_secret_of(client.endpoint, at=timezone.now())
        _tell(client.pk, before, values_of(client), actor=actor)
    return NewSecret(client.pk, text)


def values_of(client: Client) -> ClientValues:
    """Return what the registry says of a client; one whose endpoint was switched off is not active either."""
    endpoint = client.endpoint
    return ClientValues(
        name=client.name,
        url=endpoint.url,
        active=client.active and endpoint.active,
        paused=endpoint.paused,
        muted_until=client.muted_until,
        rotated_at=_rotated_at(endpoint),
    )


def _rotated_at(endpoint: Endpoint) -> datetime | None:
    return None if endpoint.old_secret_until is None else endpoint.old_secret_until - OVERLAP


def _hold(client_id: int) -> Client:
    client = _find_client(client_id)
    if client is None:
        raise ClientNotFound
    return client


def _find_client(client_id: int) -> Client | None:
    if not 0 < client_id < 2**63:
        return None
    clients = Client.objects.select_for_update(no_key=True, of=("self", "endpoint")).select_related("endpoint")
    return clients.filter(pk=client_id).first()


def _tidy(values: ClientValues) -> ClientValues:
    muted_until = values.muted_until and truncate_to_milliseconds(values.muted_until)
    return replace(values, name=values.name.strip(), url=values.url.strip(), muted_until=muted_until)


def _check(values: ClientValues) -> None:
    faults = client_faults(values)
    if faults:
        raise Invalid(faults)


def _write(client: Client, wanted: ClientValues, *, actor: str) -> None:
    before = values_of(client)
    if wanted == before:
        return
    _check(wanted)
    client.name, client.active, client.muted_until = wanted.name, wanted.active, wanted.muted_until
    client.save(update_fields=["name", "active", "muted_until"])
    endpoint = client.endpoint
    endpoint.url, endpoint.active, endpoint.paused = wanted.url, wanted.active, wanted.paused
    endpoint.save(update_fields=["url", "active", "paused"])
    if before.active and not wanted.active:
        cancel_client_deliveries(endpoint.pk)
        close_unreachable_alert(endpoint.pk, gettext_noop("switched off: nothing waits any more"))
    if (wanted.active and not before.active) or (before.paused and not wanted.paused):
        reset_breaker(endpoint)
    if before.muted_until != wanted.muted_until:
        recheck_withheld_losses(SensorClient.objects.filter(client=client))
    _tell(client.pk, before, wanted, actor=actor)


def _tell(client_id: int, before: ClientValues | None, after: ClientValues, *, actor: str) -> None:
    old = None if before is None else snapshot(KIND, before)
    change = RegistryChange(KIND, client_id, old, snapshot(KIND, after))
    record_registry_changes([change], actor=actor, now=timezone.now())


def _find(client_id: str) -> ClientValues | None:
    client = _find_client(int(client_id))
    return None if client is None else values_of(client)


def _restore(client_id: str, values: Values | None, actor: str) -> None:
    """Put values back; a registration is taken back as DELETE would, a replaced secret stays replaced."""
    client = _find_client(int(client_id))
    if client is None:
        raise NotRevertible
    current = values_of(client)
    wanted = replace(current, active=False) if values is None else _read(values)
    if wanted == current or wanted.rotated_at != current.rotated_at:
        raise NotRevertible
    _write(client, wanted, actor=actor)


def _read(values: Values) -> ClientValues:
    """Make values of what the log keeps."""
    times = {name: values[name] and parse_time(values[name]) for name in ("muted_until", "rotated_at")}
    return ClientValues(**{name: values[name] for name in FIELDS} | times)


track(Tracked(kind=KIND, fields=FIELDS, find=_find, restore=_restore))
