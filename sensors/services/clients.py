"""Register, change, pause and deactivate clients, and rotate the secrets that sign their deliveries."""

from dataclasses import dataclass, fields, replace
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
    """A new secret, to be shown once; the database has it encrypted."""

    client_id: int
    text: str


def create_client(*, actor: str, **values: Unpack[ClientEdits]) -> NewSecret:
    """Register a client with its endpoint; return the secret, which is shown this once."""
    new = _normalize(ClientValues(**values))
    _check(new)
    text = make_secret()
    with transaction.atomic():
        endpoint = Endpoint.objects.create(
            url=new.url, secret=encrypt(text.encode()), active=new.active, paused=new.paused
        )
        client = Client.objects.create(name=new.name, endpoint=endpoint, active=new.active, muted_until=new.muted_until)
        _record(client.pk, None, new, actor=actor)
    return NewSecret(client.pk, text)


def update_client(*, client_id: int, actor: str, **edits: Unpack[ClientEdits]) -> None:
    """Change the given values of a client; where all of them are equal, nothing is recorded."""
    with transaction.atomic():
        client = _lock(client_id)
        _write(client, _normalize(replace(values_of(client), **edits)), actor=actor)


def deactivate_client(*, client_id: int, actor: str) -> None:
    """Stop notifying a client: its pending deliveries are cancelled, its history stays."""
    update_client(client_id=client_id, actor=actor, active=False)


def pause_client(*, client_id: int, actor: str) -> None:
    """Send a client nothing until it is resumed; its deliveries wait."""
    update_client(client_id=client_id, actor=actor, paused=True)


def resume_client(*, client_id: int, actor: str) -> None:
    update_client(client_id=client_id, actor=actor, paused=False)


def rotate_secret(*, client_id: int, actor: str) -> NewSecret:
    """Replace the secret of a client; the old one signs beside the new one for another day."""
    with transaction.atomic():
        client = _lock(client_id)
        before = values_of(client)
        text = rotate_secret_of(client.endpoint, at=timezone.now())
        _record(client.pk, before, values_of(client), actor=actor)
    return NewSecret(client.pk, text)


def values_of(client: Client) -> ClientValues:
    """Return the values of a client as the registry shows them; without an active endpoint it is not active."""
    endpoint = client.endpoint
    return ClientValues(
        name=client.name,
        url=endpoint.url,
        active=client.active and endpoint.active,
        paused=endpoint.paused,
        muted_until=client.muted_until,
        rotated_at=None if endpoint.old_secret_until is None else endpoint.old_secret_until - OVERLAP,
    )


def _lock(client_id: int) -> Client:
    client = _find_locked(client_id)
    if client is None:
        raise ClientNotFound
    return client


def _find_locked(client_id: int) -> Client | None:
    if not 0 < client_id < 2**63:
        return None
    # Both rows, as the endpoint is written with its client.
    clients = Client.objects.select_for_update(no_key=True, of=("self", "endpoint")).select_related("endpoint")
    return clients.filter(pk=client_id).first()


def _normalize(values: ClientValues) -> ClientValues:
    muted_until = values.muted_until and truncate_to_milliseconds(values.muted_until)
    return replace(values, name=values.name.strip(), url=values.url.strip(), muted_until=muted_until)


def _check(values: ClientValues) -> None:
    faults = client_faults(values)
    if faults:
        raise Invalid(faults)


def _write(client: Client, new: ClientValues, *, actor: str) -> None:
    before = values_of(client)
    if new == before:
        return
    _check(new)
    client.name, client.active, client.muted_until = new.name, new.active, new.muted_until
    client.save(update_fields=["name", "active", "muted_until"])
    endpoint = client.endpoint
    endpoint.url, endpoint.active, endpoint.paused = new.url, new.active, new.paused
    endpoint.save(update_fields=["url", "active", "paused"])
    if before.active and not new.active:
        cancel_client_deliveries(endpoint.pk)
        close_unreachable_alert(endpoint.pk, gettext_noop("disabled: nothing is waiting any more"))
    if (new.active and not before.active) or (before.paused and not new.paused):
        reset_breaker(endpoint)
    if before.muted_until != new.muted_until:
        recheck_withheld_losses(SensorClient.objects.filter(client=client))
    _record(client.pk, before, new, actor=actor)


def _record(client_id: int, before: ClientValues | None, after: ClientValues, *, actor: str) -> None:
    old = None if before is None else snapshot(KIND, before)
    change = RegistryChange(KIND, client_id, old, snapshot(KIND, after))
    record_registry_changes([change], actor=actor, now=timezone.now())


def _find(client_id: str) -> ClientValues | None:
    client = _find_locked(int(client_id))
    return None if client is None else values_of(client)


def _restore(client_id: str, values: Values | None, actor: str) -> None:
    """Restore the values of the change log; a registration is reverted by deactivation, as DELETE would do it."""
    client = _find_locked(int(client_id))
    if client is None:
        raise NotRevertible
    current = values_of(client)
    if values is None:
        new = replace(current, active=False)
    else:
        times = {name: values[name] and parse_time(values[name]) for name in ("muted_until", "rotated_at")}
        new = ClientValues(**{name: values[name] for name in FIELDS} | times)
    # A secret that was replaced stays replaced: nobody has the old one any more.
    if new == current or new.rotated_at != current.rotated_at:
        raise NotRevertible
    _write(client, new, actor=actor)


track(Tracked(kind=KIND, fields=FIELDS, find=_find, restore=_restore, page="admin:sensors_client_change"))
