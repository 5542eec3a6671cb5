"""The handler `webhook`: a message to a client, signed, retried and traced like every other.

Inputs: `client`, its id; `payload`, or whatever else there is.
"""

from typing import Any

from django.db import transaction

from config.common.text import is_storable
from config.common.times import format_time
from notifications.models import Delivery
from notifications.services.deliveries import NewDelivery, enqueue_deliveries
from processes.workflows.ids import subject_of
from processes.workflows.models import WorkflowEffect, WorkflowInstance
from processes.workflows.services.refusals import EffectRefused, mark_dispatched
from sensors.models import Client

TYPE = "workflow.message"


def dispatch_webhook(effect: WorkflowEffect, instance: WorkflowInstance, inputs: dict[str, Any]) -> None:
    """Owe the client a message."""
    endpoint_id = _endpoint(inputs.get("client"))
    if not is_storable(inputs):
        raise EffectRefused("No database keeps the character NUL.")
    rest = {name: value for name, value in inputs.items() if name != "client"}
    body = {
        "version": 1,
        "type": TYPE,
        "definition": instance.definition_id,
        "instance": str(instance.pk),
        "record": instance.record,
        "element": effect.element,
        "payload": inputs.get("payload", rest),
        "at": format_time(effect.at),
    }
    with transaction.atomic():
        mark_dispatched(effect)
        enqueue_deliveries([NewDelivery(endpoint_id, TYPE, Delivery.Family.LIST, subject_of(instance.pk), body)])


def _endpoint(client: Any) -> int:
    """Find where a client is reached. Nothing supersedes what it is told here, as nothing supersedes a list."""
    known = isinstance(client, int | str) and not isinstance(client, bool) and str(client).isdecimal()
    rows = Client.objects.filter(pk=int(client), active=True) if known and len(str(client)) < 18 else None
    endpoint_id = None if rows is None else rows.values_list("endpoint_id", flat=True).first()
    if endpoint_id is None:
        raise EffectRefused(f"There is no active client {client!r}.")
    return endpoint_id
