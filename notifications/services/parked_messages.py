"""What staff may do about a parked message of RabbitMQ: send it again, or discard it."""

from django.conf import settings
from django.db import transaction
from django.db.models.functions import Now

from config.common.text import clean_text
from config.engines.amqp_messages import properties_of
from config.engines.publisher import NotPublished, Publisher
from notifications.errors import NotSentAgain, ParkedMessageDecided, ParkedMessageNotFound
from notifications.models import ParkedMessage
from notifications.services.alerts import close_alert
from notifications.services.poison import FULL, PARKED, can_park
from notifications.subjects import queue_subject

PUBLISHED_WITHIN = 2.0

_publisher = Publisher()


def resend_parked_message(*, message_id: int, actor: str) -> None:
    """Put a parked message back at the end of its queue; its failures are counted from zero.

    Sent first and marked then: a process that dies in between sends it twice, for which consumers are prepared, and
    never not at all.
    """
    parked = _get_undecided(message_id)
    if not settings.AMQP_URL:
        raise NotSentAgain(reason="AMQP_URL is not set")
    try:
        _publisher.publish(
            bytes(parked.body),
            exchange="",
            routing_key=parked.queue,
            properties=properties_of(parked.properties),
            deadline=PUBLISHED_WITHIN,
        )
    except NotPublished as error:
        raise NotSentAgain(reason=str(error)) from error
    _decide(parked, ParkedMessage.Status.RESENT, actor)


def discard_parked_message(*, message_id: int, actor: str, reason: str) -> None:
    """Discard a parked message; actor and reason stay on the row until it expires."""
    _decide(_get_undecided(message_id), ParkedMessage.Status.DISCARDED, actor, reason)


def has_parked_messages(subject: str) -> bool:
    """Return whether parked messages of the queue that an alert is about still wait for a decision."""
    queue = subject.partition("/")[2]
    return ParkedMessage.objects.filter(queue=queue, status=ParkedMessage.Status.PARKED).exists()


def is_stopped(subject: str) -> bool:
    """Return whether the queue that an alert is about cannot park messages until staff have decided about some.

    Where those of other queues take all the room there is nothing of this one to decide about.
    """
    return has_parked_messages(subject) and not can_park(subject.partition("/")[2])


def _get_undecided(message_id: int) -> ParkedMessage:
    parked = ParkedMessage.objects.filter(pk=message_id).first()
    if parked is None:
        raise ParkedMessageNotFound
    if parked.status != ParkedMessage.Status.PARKED:
        raise ParkedMessageDecided
    return parked


def _decide(parked: ParkedMessage, status: ParkedMessage.Status, actor: str, reason: str = "") -> None:
    """Write the decision unless somebody was faster; close the alert with the last parked message of the queue."""
    with transaction.atomic():
        # The condition on the status decides between two who press at the same time.
        open_rows = ParkedMessage.objects.filter(queue=parked.queue, status=ParkedMessage.Status.PARKED)
        decided = open_rows.filter(pk=parked.pk).update(
            status=status, decided_at=Now(), decided_by=clean_text(actor, 160), reason=clean_text(reason, 200)
        )
        if not decided:
            raise ParkedMessageDecided
        if not open_rows.exists():
            close_alert(PARKED, queue_subject(parked.queue))
        if can_park(parked.queue):
            close_alert(FULL, queue_subject(parked.queue))
