"""Poison messages of RabbitMQ, on which a consumer fails or dies: counted before each attempt, parked after a few.

The flag `redelivered` says that a message was delivered before; the broker does not say how often. So the consumer of
such a message counts the attempt, handles it, and deletes the count. A message that was begun and not finished is
handled alone the next time, so that a crash shows which message it was; the count outlives the process, and all
consumers of a queue share it.

The parked messages that wait for a decision are bounded. Past the bound nothing more is parked: the message goes back
and its queue stands still, with an alert, until staff have decided. So many failures for no known reason are most
likely a fault of this product, and it would be worse to discard accepted messages, or to fill the disk with them.
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
"""The number of attempts after which a message is parked."""
PAUSE = 0.1
LONGEST_PAUSE = 30.0
FORGOTTEN_AFTER = timedelta(days=1)
MOST_PARKED, MOST_PARKED_BYTES = 1000, 64 << 20
"""Undecided, of one queue. Checked before a message is parked: the last one may be larger than what was left."""
MOST_PARKED_IN_ALL, MOST_PARKED_BYTES_IN_ALL = 4000, 256 << 20
PARKED = "amqp.parked"
FULL = "amqp.parking_full"
TITLE = gettext_noop("Messages of the queue %(queue)s keep failing and have been parked: %(count)s")
FULL_TITLE = gettext_noop(
    "The queue %(queue)s is stopped: %(count)s parked messages await a decision, and no more can be parked"
)
DIED = "The process ended in the middle of it each time."

PARKED_MESSAGES = Counter("postern_amqp_parked", "Messages parked after failing again and again", ["queue"])

log = structlog.get_logger(__name__)
ResultT = TypeVar("ResultT")
_in_a_row: Tally[str] = Tally()


class EngineUnavailable(Exception):
    """An engine that the handler needs is away: the message is not to blame, and the attempt does not count."""


class ParkingFull(EngineUnavailable):
    """No more messages can be parked until staff have decided about some; the queue stands still until then."""


def handle_redelivered(
    messages: Sequence[AmqpMessage], handle: Callable[[list[AmqpMessage]], ResultT], *, away: type[Exception]
) -> list[ResultT]:
    """Handle redelivered messages of one queue; return the results of `handle` for all that were not parked.

    Messages without a counted failure are handled together, each of the others alone. `away` is raised as it comes:
    then the rest has not been handled, and what has been may be handled again.
    """
    known = dict(_select_counts(messages).values_list("digest", "failures")) if messages else {}
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
    """Count an attempt of these messages before it is made; return the number of attempts by digest."""
    digests = sorted({message.digest for message in messages})
    with transaction.atomic():
        # In the order of the digests: two consumers cannot deadlock.
        MessageFailure.objects.bulk_create(
            [MessageFailure(queue=messages[0].queue, digest=digest) for digest in digests], ignore_conflicts=True
        )
        _select_counts(messages).update(failures=F("failures") + 1, tried_at=Now())
        return dict(_select_counts(messages).values_list("digest", "failures"))


def uncount_attempts(messages: Sequence[AmqpMessage]) -> None:
    """Take the last attempt back: it did not fail because of the messages."""
    try:
        _select_counts(messages).update(failures=F("failures") - 1)
        _select_counts(messages).filter(failures=0).delete()
    except (DatabaseError, InterfaceError) as error:
        # The database itself is what is away. A count that is one too high parks nothing by itself.
        log.info("amqp.count_stays", error=str(error))


def clear_counts(messages: Sequence[AmqpMessage]) -> None:
    """Delete the counts of messages that have been handled."""
    _select_counts(messages).delete()
    for message in messages:
        _in_a_row.pop(message.queue, None)


def exceeds_limit(failures: int) -> bool:
    return failures > LIMIT


def park_message(message: AmqpMessage, failures: int) -> None:
    """Park a message until staff decide about it, and raise an alert.

    Raise `ParkingFull` after a pause if too many wait for a decision: the message belongs back into its queue.
    """
    if not can_park(message.queue):
        _refuse_to_park(message)
    with transaction.atomic():
        row = _select_counts([message]).first()
        ParkedMessage.objects.create(
            queue=message.queue,
            body=message.body,
            properties=message.properties,
            failures=failures - 1,
            error=(row.error if row is not None else "") or DIED,
        )
        _select_counts([message]).delete()
        close_alert(FULL, queue_subject(message.queue))
        raise_parked_alert(message.queue)
    PARKED_MESSAGES.labels(message.queue).inc()
    log.error("amqp.parked", queue=message.queue, size=len(message.body))
    _in_a_row[message.queue] += 1
    if _in_a_row[message.queue] > 1:
        # Every message fails: likely a fault of this product, and to park them all at once would make it worse.
        time.sleep(min(2.0 ** (_in_a_row[message.queue] - 2), LONGEST_PAUSE))


def raise_parked_alert(queue: str) -> None:
    raise_alert(
        PARKED, queue_subject(queue), TITLE, {"queue": queue, "count": _select_undecided().filter(queue=queue).count()}
    )


def can_park(queue: str) -> bool:
    """Return whether one more message may be parked; consumers that ask at the same time may each park one."""
    rows, size = _count_rows_and_bytes(_select_undecided().filter(queue=queue))
    all_rows, all_size = _count_rows_and_bytes(_select_undecided())
    return (
        rows < MOST_PARKED
        and size < MOST_PARKED_BYTES
        and all_rows < MOST_PARKED_IN_ALL
        and all_size < MOST_PARKED_BYTES_IN_ALL
    )


def _refuse_to_park(message: AmqpMessage) -> None:
    uncount_attempts([message])  # the next attempt finds it over the limit again, and the count need not grow
    count = _select_undecided().count()
    raise_alert(FULL, queue_subject(message.queue), FULL_TITLE, {"queue": message.queue, "count": count})
    log.error("amqp.parking_full", queue=message.queue, parked=count)
    time.sleep(LONGEST_PAUSE)
    raise ParkingFull


def _select_undecided() -> QuerySet[ParkedMessage]:
    return ParkedMessage.objects.filter(status=ParkedMessage.Status.PARKED)


def _count_rows_and_bytes(rows: QuerySet[ParkedMessage]) -> tuple[int, int]:
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
            _select_counts([message]).update(error=clean_error(error, 2000))
            time.sleep(PAUSE * failures)
        else:
            clear_counts([message])
            return [result]


def _select_counts(messages: Sequence[AmqpMessage]) -> QuerySet[MessageFailure]:
    digests = {message.digest for message in messages}
    return MessageFailure.objects.filter(queue=messages[0].queue, digest__in=digests)
