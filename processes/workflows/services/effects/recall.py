"""Take back what an abandoned version has sent and nobody has received.

A webhook that is still pending is cancelled, a message that no process has taken is set aside; each can leave again, if
somebody returns to the version that sent it. What is under way at this moment, and a reply that a device may have read
without having confirmed it, cannot be taken back.
"""

from collections.abc import Iterable
from uuid import UUID

from django.db.models import F, Q, QuerySet
from django.utils.translation import gettext, gettext_noop

from config.common.database.sql import in_array, in_number_array
from messaging.errors import AlreadySetAside, NotWaiting
from messaging.models import Message
from messaging.services.set_aside import bring_back_message, can_be_set_aside, set_aside_message
from notifications.models import Delivery
from notifications.services.deliveries import cancel_deliveries, lock_pending_deliveries
from processes.workflows.ids import message_id_of
from processes.workflows.models import WorkflowEffect

RECALLED = gettext_noop("recalled by a return")
ACTOR = "workflow"
Kind = WorkflowEffect.Kind


def find_recallable(sent: Iterable[WorkflowEffect]) -> set[int]:
    """Return which of these effects could be taken back now."""
    effects = list(sent)
    deliveries = Delivery.objects.filter(pk__in=in_number_array([each.delivery for each in effects if each.delivery]))
    idle = deliveries.filter(status=Delivery.Status.PENDING, under_way_until__isnull=True)
    pending = set(idle.values_list("pk", flat=True))
    waiting = {message.public_id for message in _messages(effects) if can_be_set_aside(message)}
    return {
        effect.pk
        for effect in effects
        if (effect.kind == Kind.WEBHOOK and effect.delivery in pending)
        or (effect.kind == Kind.MESSAGE and _message_id(effect) in waiting)
    }


def recall(instance_id: UUID, sent: QuerySet[WorkflowEffect], *, reason: str, actor: str) -> None:
    """Take back what can be; the effects count as cancelled then. Call it in the transaction of the return."""
    effects = list(sent.filter(kind__in=[Kind.WEBHOOK, Kind.MESSAGE]))
    taken = _recall_deliveries(effects) | _recall_messages(effects, reason=reason, actor=actor)
    WorkflowEffect.objects.filter(instance=instance_id, pk__in=in_number_array(taken)).update(
        status=WorkflowEffect.Status.CANCELLED, left_at=None, fence=F("fence") + 1
    )


def send_again(message: Message) -> None:
    """Offer a message again that an earlier return has taken back."""
    if message.set_aside_at is not None:
        bring_back_message(message_id=message.pk, reason=gettext("sent again after a return"), actor=ACTOR)


def _recall_deliveries(effects: Iterable[WorkflowEffect]) -> set[int]:
    by_delivery = {effect.delivery: effect.pk for effect in effects if effect.delivery is not None}
    ours = Q(pk__in=in_number_array(by_delivery))
    # Looked at again once locked: the sender may have begun meanwhile.
    locked = [pk for pk, _, _ in lock_pending_deliveries(ours)]
    idle = Delivery.objects.filter(pk__in=in_number_array(locked), under_way_until__isnull=True)
    pks = list(idle.values_list("pk", flat=True))
    cancel_deliveries(pks, RECALLED)
    return {by_delivery[pk] for pk in pks}


def _recall_messages(effects: Iterable[WorkflowEffect], *, reason: str, actor: str) -> set[int]:
    by_message = {_message_id(effect): effect.pk for effect in effects if effect.kind == Kind.MESSAGE}
    taken = set()
    for message in _messages(effects):
        try:
            set_aside_message(message_id=message.pk, reason=reason, actor=actor)
        except (AlreadySetAside, NotWaiting):
            continue  # taken, or somebody has decided before
        taken.add(by_message[message.public_id])
    return taken


def _message_id(effect: WorkflowEffect) -> str:
    return message_id_of(effect.instance_id, effect.local, effect.at)


def _messages(effects: Iterable[WorkflowEffect]) -> list[Message]:
    ids = [_message_id(effect) for effect in effects if effect.kind == Kind.MESSAGE]
    return list(Message.objects.filter(public_id__in=in_array(ids)).order_by("pk")) if ids else []
