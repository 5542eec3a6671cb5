"""Messages of RabbitMQ that their consumer fails on or dies of: counted before each try, parked after a few.

The flag `redelivered` says that a message was in somebody's hands before; how often, nobody says. So whoever is given
such a message writes down that it takes it up, handles it, and deletes the count. What was begun and not finished is
handled alone the next time, so that a crash tells which message it was; the count outlives the process, and all
consumers of a queue share it.

What is parked and not decided upon is bounded. Past the bound nothing more is taken out of the line: the message goes
back and its queue stands still, with an alert, until staff have decided. So many failures for no known reason are most
likely our own fault, and to throw accepted messages away for it, or to fill the disk with them, would be the worse one.
"""

import time
from collections import Counter as Tally
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import TypeVar

import structlog
from django.db import DatabaseError, InterfaceError, transaction
from django.db.models import Count, F, QuerySet, Sum
from django.db.models.functions import Coalesce, Length, Now
from django.utils.translation import gettext_noop
from prometheus_client import Counter

from config.common.text import clean_error
from config.engines.amqp_messages import AmqpMessage
from notifications.models import MessageFailure, ParkedMessage
from notifications.services.alerts import close_alert, raise_alert
from notifications.subjects import queue_subject

LIMIT = 5
"""So many tries; then the message is parked."""
PAUSE = 0.1
LONGEST_PAUSE = 30.0
FORGOTTEN_AFTER = timedelta(days=1)
MOST_PARKED, MOST_PARKED_BYTES = 1000, 64 << 20
"""Undecided, of one queue. Checked before a message is parked: the last one may be larger than what was left."""
MOST_PARKED_IN_ALL, MOST_PARKED_BYTES_IN_ALL = 4000, 256 << 20
PARKED = "amqp.parked"
FULL = "amqp.parking_full"
TITLE = gettext_noop("Messages of the queue %(queue)s failed again and again and are parked: %(count)s")
FULL_TITLE = gettext_noop(
    "The queue %(queue)s stands still: %(count)s parked messages wait for a decision, and no more can be parked"
)
DIED = "The process ended in the middle of it each time."

PARKED_MESSAGES = Counter("postern_amqp_parked", "Messages parked after failing again and again", ["queue"])

log = structlog.get_logger(__name__)
ResultT = TypeVar("ResultT")
_in_a_row: Tally[str] = Tally()


class EngineUnavailable(Exception):
    """What the handling needs is away: nothing is wrong with the message, and it counts for nothing."""


class ParkingFull(EngineUnavailable):
    """No more messages can be parked before staff have decided upon some: the queue stands still until then."""


def handle_redelivered(
    messages: Sequence[AmqpMessage], handle: Callable[[list[AmqpMessage]], ResultT], *, away: type[Exception]
) -> list[ResultT]:
    """Handle messages of one queue that came before; return what `handle` made of all that were not parked.

    Those that nobody has failed on are handled together, each of the others alone. Raise `away` as it comes: then the
    rest has not been handled, and what has been may be handled again.
    """
    known = _failures(messages)
    results: list[ResultT] = []
    alone = [message for message in messages if known.get(message.digest)]
    new = [message for message in messages if not known.get(message.digest)]
    if new:
        count_attempts(new)
        try:
            results.append(handle(new))
        except away:
            uncount_attempts(new)
            raise
        except Exception:
            log.exception("amqp.batch_failed", queue=new[0].queue, messages=len(new))
            alone += new
        else:
            clear_counts(new)
    for message in alone:
        results += _handle_alone(message, handle, away)
    return results


def count_attempts(messages: Sequence[AmqpMessage]) -> dict[str, int]:
    """Write down that these messages are about to be handled; return how often that has been, by digest."""
    digests = sorted({message.digest for message in messages})
    with transaction.atomic():
        # In the order of the digests, so that two consumers cannot wait for each other.
        MessageFailure.objects.bulk_create(
            [MessageFailure(queue=messages[0].queue, digest=digest) for digest in digests], ignore_conflicts=True
        )
        _rows(messages).update(failures=F("failures") + 1, tried_at=Now())
        return dict(_rows(messages).values_list("digest", "failures"))


def uncount_attempts(messages: Sequence[AmqpMessage]) -> None:
    """Take the last try back: it did not end for anything in the message."""
    try:
        _rows(messages).update(failures=F("failures") - 1)
        _rows(messages).filter(failures=0).delete()
    except (DatabaseError, InterfaceError) as error:
        # The database itself is what is away. A count that is one too high parks nothing by itself.
        log.info("amqp.count_stays", error=str(error))


def clear_counts(messages: Sequence[AmqpMessage]) -> None:
    """Forget what was counted: the messages have been handled."""
    _rows(messages).delete()
    for message in messages:
        _in_a_row.pop(message.queue, None)


def exceeds_limit(failures: int) -> bool:
    return failures > LIMIT


def park_message(message: AmqpMessage, failures: int) -> None:
    """Put a message aside for staff to decide about, and tell them.

    Raise `ParkingFull` after a pause where too many wait for a decision: the message belongs back into its queue.
    """
    if not can_park(message.queue):
        _stand_still(message)
    with transaction.atomic():
        row = _rows([message]).first()
        ParkedMessage.objects.create(
            queue=message.queue,
            body=message.body,
            properties=message.properties,
            failures=failures - 1,
            error=(row.error if row is not None else "") or DIED,
        )
        _rows([message]).delete()
        close_alert(FULL, queue_subject(message.queue))
        raise_parked_alert(message.queue)
    PARKED_MESSAGES.labels(message.queue).inc()
    log.error("amqp.parked", queue=message.queue, size=len(message.body))
    _in_a_row[message.queue] += 1
    if _in_a_row[message.queue] > 1:
        # Nothing passes: that may be our own fault, and then parking everything would be the worse one.
        time.sleep(min(2.0 ** (_in_a_row[message.queue] - 2), LONGEST_PAUSE))


def raise_parked_alert(queue: str) -> None:
    raise_alert(
        PARKED, queue_subject(queue), TITLE, {"queue": queue, "count": _undecided().filter(queue=queue).count()}
    )


def can_park(queue: str) -> bool:
    """Return whether one more may be parked; consumers that ask at the same moment may each park one."""
    rows, size = _measure(_undecided().filter(queue=queue))
    all_rows, all_size = _measure(_undecided())
    return (
        rows < MOST_PARKED
        and size < MOST_PARKED_BYTES
        and all_rows < MOST_PARKED_IN_ALL
        and all_size < MOST_PARKED_BYTES_IN_ALL
    )


def _stand_still(message: AmqpMessage) -> None:
    uncount_attempts([message])  # it is as hopeless the next time, and the count need not grow
    count = _undecided().count()
    raise_alert(FULL, queue_subject(message.queue), FULL_TITLE, {"queue": message.queue, "count": count})
    log.error("amqp.parking_full", queue=message.queue, parked=count)
    time.sleep(LONGEST_PAUSE)
    raise ParkingFull


def _undecided() -> QuerySet[ParkedMessage]:
    return ParkedMessage.objects.filter(status=ParkedMessage.Status.PARKED)


def _measure(rows: QuerySet[ParkedMessage]) -> tuple[int, int]:
    found = rows.aggregate(rows=Count("pk"), size=Coalesce(Sum(Length("body")), 0))
    return found["rows"], found["size"]


def _handle_alone(
    message: AmqpMessage, handle: Callable[[list[AmqpMessage]], ResultT], away: type[Exception]
) -> list[ResultT]:
    while True:
        failures = count_attempts([message])[message.digest]
        if exceeds_limit(failures):
            try:
                park_message(message, failures)
            except ParkingFull as full:
                raise away from full
            return []
        try:
            result = handle([message])
        except away:
            uncount_attempts([message])
            raise
        except Exception as error:
            log.exception("amqp.message_failed", queue=message.queue, failures=failures)
            _rows([message]).update(error=clean_error(error, 2000))
            time.sleep(PAUSE * failures)
        else:
            clear_counts([message])
            return [result]


def _failures(messages: Sequence[AmqpMessage]) -> dict[str, int]:
    return dict(_rows(messages).values_list("digest", "failures")) if messages else {}


def _rows(messages: Sequence[AmqpMessage]) -> QuerySet[MessageFailure]:
    digests = {message.digest for message in messages}
    return MessageFailure.objects.filter(queue=messages[0].queue, digest__in=digests)
