"""What each kind of effect does, in the transaction that marks it as dispatched.

`alert` raises an alert for staff. Inputs: `title`, and whatever else is to be read with it.

`webhook` enqueues a delivery to a client, signed, retried and traced like every other. Inputs: `client`, its id;
`payload`, or whatever else there is.

`message` sends a message to a device or a database of the definition's own enterprise, and of no other. Inputs: `to`;
`from`, a database where it goes to a device and a device where it goes to a database (it may be left out where the
enterprise has only one); `payload`; `reply_to`.
"""

from typing import Any

import msgspec
from django.conf import settings
from django.db import transaction
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext_noop

from config.common.correlation import correlation_id
from config.common.database.leases import LeaseLost, finish
from config.common.errors import ApplicationError
from config.common.text import is_storable
from config.common.times import format_time
from messaging.files.drafts import drop_drafts, name_drafts, write_drafts
from messaging.files.envelope import fingerprint, size_of
from messaging.models import Device, ExchangeDatabase, Message
from messaging.protocol import check_payload, megabytes
from messaging.services.send import insert_message
from notifications.models import Delivery
from notifications.services.alerts import raise_alert
from notifications.services.deliveries import NewDelivery, enqueue_deliveries
from processes.workflows.ids import message_id_of
from processes.workflows.models import WorkflowEffect, WorkflowInstance
from processes.workflows.services.effects.recall import send_again
from processes.workflows.subjects import subject_of
from sensors.models import Client

ALERT_KIND = "workflow.alert"
ALERT_TITLE = gettext_noop("%(title)s (workflow “%(definition)s” of %(record)s)")
WEBHOOK_TYPE = "workflow.message"


class EffectRefused(Exception):
    """The effect cannot be dispatched as it is; somebody must look at it."""


def mark_dispatched(effect: WorkflowEffect) -> None:
    """Mark an effect in the transaction of its dispatch; raise `LeaseLost` if it was dispatched or cancelled before."""
    finish(effect, status=WorkflowEffect.Status.LEFT, left_at=Now(), due_at=None, delivery=effect.delivery)


def dispatch_alert(effect: WorkflowEffect, instance: WorkflowInstance, inputs: dict[str, Any]) -> None:
    """Raise an alert; the same element of the same instance again counts the same alert once more."""
    title = str(inputs.get("title") or effect.name or effect.element)
    if not is_storable(inputs):
        raise EffectRefused("The character NUL cannot be stored.")
    named = {
        "title": title[:200],
        "definition": str(instance.definition),
        "record": instance.record or str(instance.pk),
    }
    with transaction.atomic():
        mark_dispatched(effect)
        subject = f"{subject_of(instance.pk)}/{effect.element}"[:120]
        raise_alert(ALERT_KIND, subject, ALERT_TITLE, {**inputs, **named, "instance": str(instance.pk)})


def dispatch_webhook(effect: WorkflowEffect, instance: WorkflowInstance, inputs: dict[str, Any]) -> None:
    """Enqueue a delivery to a client."""
    endpoint_id = _get_endpoint(inputs.get("client"))
    if not is_storable(inputs):
        raise EffectRefused("The character NUL cannot be stored.")
    rest = {name: value for name, value in inputs.items() if name != "client"}
    body = {
        "version": 1,
        "type": WEBHOOK_TYPE,
        "definition": instance.definition_id,
        "instance": str(instance.pk),
        "record": instance.record,
        "element": effect.element,
        "payload": inputs.get("payload", rest),
        "at": format_time(effect.at),
    }
    # The family of lists: no later delivery supersedes what a workflow sends.
    delivery = NewDelivery(endpoint_id, WEBHOOK_TYPE, Delivery.Family.LIST, subject_of(instance.pk), body)
    with transaction.atomic():
        (effect.delivery,) = enqueue_deliveries([delivery])
        mark_dispatched(effect)


def _get_endpoint(client: Any) -> int:
    """Return the endpoint of the active client that the inputs name."""
    is_id = isinstance(client, int | str) and not isinstance(client, bool) and str(client).isdecimal()
    rows = Client.objects.filter(pk=int(client), active=True) if is_id and len(str(client)) < 18 else None
    endpoint_id = None if rows is None else rows.values_list("endpoint_id", flat=True).first()
    if endpoint_id is None:
        raise EffectRefused(f"There is no active client {client!r}.")
    return endpoint_id


def dispatch_message(effect: WorkflowEffect, instance: WorkflowInstance, inputs: dict[str, Any]) -> None:
    """Send a message: write its draft, commit its row with the mark of the effect, then name its file."""
    enterprise = instance.definition.enterprise_id
    if enterprise is None:
        raise EffectRefused("The definition belongs to no enterprise: there is nobody it may write to.")
    payload = msgspec.json.encode(inputs.get("payload"))
    message = _build_message(effect, inputs, enterprise, payload)
    known = Message.objects.filter(enterprise=enterprise, public_id=message.public_id).first()
    if known is not None:
        # Its id follows from the effect: it was sent before, and perhaps taken back by a return.
        with transaction.atomic():
            mark_dispatched(effect)
            send_again(known)
        return
    write_drafts([(message, payload)])
    try:
        with transaction.atomic():
            mark_dispatched(effect)
            _insert(message)
    except (EffectRefused, LeaseLost):
        drop_drafts([message])  # raised before the commit: there is no row
        raise
    # After any other error the row may have been committed all the same: the draft is swept if no row knows it.
    name_drafts([message])


def _build_message(effect: WorkflowEffect, inputs: dict[str, Any], enterprise: str, payload: bytes) -> Message:
    to, sender = str(inputs.get("to", "")), inputs.get("from")
    devices = Device.objects.filter(subsystem__enterprise=enterprise, active=True)
    databases = ExchangeDatabase.objects.filter(enterprise=enterprise, active=True)
    device, database = devices.filter(pk=to).first(), databases.filter(pk=to).first()
    if (device is None) == (database is None):
        raise EffectRefused(f"{to!r} is no active device or database of the enterprise {enterprise}.")
    is_reply = device is not None
    if device is None:
        device = _get_sender(devices, sender, "device")
    if database is None:
        database = _get_sender(databases, sender, "database")
    now = timezone.now()
    message = Message(
        enterprise_id=enterprise,
        public_id=message_id_of(effect.instance_id, effect.local, effect.at),
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


def _get_sender(parties: Any, sender: Any, kind: str) -> Any:
    """Return the sender that the inputs name, or the only one there is."""
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


def _insert(message: Message) -> None:
    if message.direction == Message.Direction.REPLY:
        message.save(force_insert=True)
    elif not insert_message(message):
        raise EffectRefused(f"The database {message.database_id} takes no messages.")
