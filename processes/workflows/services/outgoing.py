"""Carry what versions told to RabbitMQ: confirmed, after the commit, under an id that is the same over repeats."""

from collections.abc import Sequence
from typing import Any

import msgspec
import structlog
from pika.spec import BasicProperties

from config.common.database.leases import LeaseLost, held_until
from config.common.text import cut_bytes
from config.common.times import format_time
from config.engines.publisher import ChannelClosed, NotPublished, NotRouted, Overdue, Publisher
from notifications.errors import FollowerWaits
from notifications.followers import Following
from notifications.models import Event
from processes.workflows.ids import public_id
from processes.workflows.services.planning import CUSTOM_PREFIX
from processes.workflows.services.topology import OUTGOING, declare_once, reset_declared

NAME = "workflows.out"
SECONDS_EACH = 5.0
BATCH = 10
"""So many that are confirmed as late as they may be stay within the lease of the relay."""
LONGEST_KEY = 255
"""Bytes: what a short string of AMQP holds."""

log = structlog.get_logger(__name__)
_publisher = Publisher()


def publish_events(events: Sequence[Event]) -> None:
    """Publish the events that instances have told; whoever has not bound a queue does not want them."""
    for event in events:
        if event.type.startswith(CUSTOM_PREFIX) and event.payload.get("instance"):
            _publish(event)


def _publish(event: Event) -> None:
    try:
        declare_once()
        _publisher.publish(
            _body(event),
            exchange=OUTGOING,
            routing_key=cut_bytes(event.type, LONGEST_KEY),
            properties=_properties(event),
            deadline=SECONDS_EACH,
            until=held_until(),
        )
    except Overdue as error:
        raise LeaseLost(str(error)) from error
    except NotRouted:
        log.debug("workflows.out_unheard", type=event.type)
    except ChannelClosed as error:
        reset_declared()
        raise FollowerWaits(str(error)) from error
    except NotPublished as error:
        raise FollowerWaits(str(error)) from error


def _body(event: Event) -> bytes:
    told: dict[str, Any] = event.payload
    return msgspec.json.encode(
        {
            "id": _id(event),
            "type": event.type,
            "record": told["record"],
            "payload": told["payload"],
            "instance": told["instance"],
            "definition": told["definition"],
            "at": format_time(event.at),
            "correlation_id": event.correlation_id,
        }
    )


def _properties(event: Event) -> BasicProperties:
    return BasicProperties(
        content_type="application/json",
        delivery_mode=2,
        message_id=_id(event),
        correlation_id=event.correlation_id or None,
        app_id="postern",
    )


def _id(event: Event) -> str:
    """The same over repeats, as it stands in the event; an event from before there were such ids has its effect's."""
    return event.payload.get("message_id") or public_id(event.payload["instance"], event.payload["effect"])


FOLLOWING = Following(name=NAME, handle=publish_events, outside=True, batch=BATCH)
