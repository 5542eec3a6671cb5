"""The handler `message`: a message to a device or a database of the definition's own enterprise, and of no other.

Inputs: `to`; `from`, a database where it goes to a device and a device where it goes to a database (it may be left out
where the enterprise has only one); `payload`; `reply_to`.
"""

import uuid
from typing import Any

import msgspec
from django.conf import settings
from django.db import transaction
from django.utils import timezone

from config.common.correlation import correlation_id
from config.common.database.leases import LeaseLost
from config.common.errors import ApplicationError
from messaging.files.drafts import drop_drafts, name_drafts, write_drafts
from messaging.files.envelope import fingerprint, size_of
from messaging.models import Device, ExchangeDatabase, Message
from messaging.protocol import check_payload, megabytes
from messaging.services.send import insert_message
from processes.workflows.models import WorkflowEffect, WorkflowInstance
from processes.workflows.services.refusals import EffectRefused, mark_dispatched


def dispatch_message(effect: WorkflowEffect, instance: WorkflowInstance, inputs: dict[str, Any]) -> None:
    """Send a message: its draft is on the disk, its row is committed with the mark of the effect, then it is named."""
    enterprise = instance.definition.enterprise_id
    if enterprise is None:
        raise EffectRefused("The definition belongs to no enterprise: there is nobody it may write to.")
    payload = msgspec.json.encode(inputs.get("payload"))
    message = _message(effect, inputs, enterprise, payload)
    if Message.objects.filter(enterprise=enterprise, public_id=message.public_id).exists():
        mark_dispatched(effect)  # its id follows from the effect: it was sent before
        return
    write_drafts([(message, payload)])
    try:
        with transaction.atomic():
            mark_dispatched(effect)
            _accept(message)
    except (EffectRefused, LeaseLost):
        drop_drafts([message])  # raised before the commit: there is no row
        raise
    # After any other error the row may have been committed all the same: the draft is swept if no row knows it.
    name_drafts([message])


def _message(effect: WorkflowEffect, inputs: dict[str, Any], enterprise: str, payload: bytes) -> Message:
    to, sender = str(inputs.get("to", "")), inputs.get("from")
    devices = Device.objects.filter(subsystem__enterprise=enterprise, active=True)
    databases = ExchangeDatabase.objects.filter(enterprise=enterprise, active=True)
    device, database = devices.filter(pk=to).first(), databases.filter(pk=to).first()
    if (device is None) == (database is None):
        raise EffectRefused(f"{to!r} is no active device or database of the enterprise {enterprise}.")
    is_reply = device is not None
    if device is None:
        device = _only(devices, sender, "device")
    if database is None:
        database = _only(databases, sender, "database")
    now = timezone.now()
    message = Message(
        enterprise_id=enterprise,
        # The same when it leaves again; another for the effect that takes its place when a database is restored.
        public_id=str(uuid.uuid5(effect.instance_id, f"{effect.local} {effect.at.isoformat()}")),
        direction=Message.Direction.REPLY if is_reply else Message.Direction.REQUEST,
        database=database,
        device=device,
        subsystem_id=device.subsystem_id,
        created_at=now,
        accepted_at=now,
        reply_to=str(inputs.get("reply_to") or "")[:36] if is_reply else "",
        correlation_id=correlation_id(),
        digest=fingerprint(to, [payload]),
        folder=Message.Folder.MESSAGES,
        status=Message.Status.WAITING,
        arrived_at=now,
        updated_at=now,
    )
    message.size = size_of(message, payload)
    _check(message, payload)
    return message


def _only(parties: Any, sender: Any, kind: str) -> Any:
    """Find who it is from: whom the inputs name, or the only one there is."""
    found = list((parties.filter(pk=str(sender)) if sender else parties).order_by("pk")[:2])
    if len(found) != 1:
        raise EffectRefused(f"`from` must name an active {kind} of the enterprise.")
    return found[0]


def _check(message: Message, payload: bytes) -> None:
    if message.size > megabytes(settings.MESSAGE_MAX_MB):
        raise EffectRefused("The message is larger than messages may be.")
    try:
        check_payload(payload)
    except ApplicationError as error:
        raise EffectRefused(error.message) from error


def _accept(message: Message) -> None:
    if message.direction == Message.Direction.REPLY:
        message.save(force_insert=True)
    elif not insert_message(message):
        raise EffectRefused(f"The database {message.database_id} takes no messages.")
