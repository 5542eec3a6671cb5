"""Accept the signals of a call: into the queue where there is a broker, else into the state at once."""

from typing import TypedDict

from django.conf import settings
from django.utils import timezone

from config.common.errors import Invalid
from config.common.web.json_codec import BadJson
from config.engines.circuit_breaker import CircuitBreaker, EngineUnavailable
from config.engines.publisher import NotPublished
from sensors.history.database import store_in_transaction
from sensors.ingest.apply import Applied, apply_signals, refuse_unregistered
from sensors.ingest.rejections import record_rejections
from sensors.ingest.signal_queue import publish_signals
from sensors.ingest.signals import TOO_LONG, Code, Origin, Rejection, Signal, read_signals

# Or every call would wait for the same timeout before it is served directly.
_broker = CircuitBreaker(calls=sum(settings.WEB_SLOTS.values()))


class RejectedItem(TypedDict):
    index: int
    code: str
    message: str


class Answer(TypedDict):
    accepted: int
    rejected: list[RejectedItem]


def accept_signals(body: bytes, origin: Origin, *, by_queue: bool) -> Answer:
    """Make the signals of a body durable; return how many, and what was refused with its reason.

    A body that is no signal and no list of signals is an error.
    """
    items = read_signals(body, origin)
    _refuse_whole_body(items)
    applied = _queue(items) if by_queue else None
    if applied is None:
        applied = apply_signals(items, also=store_in_transaction)
    return _answer(applied)


def _refuse_whole_body(items: list[Signal | Rejection]) -> None:
    first = items[0] if len(items) == 1 else None
    if not isinstance(first, Rejection):
        return
    if first.code == Code.BAD_JSON:
        record_rejections([first], now=timezone.now())
        raise BadJson(first.message)
    if first.message == TOO_LONG:
        raise Invalid({"body": [TOO_LONG]})


def _queue(items: list[Signal | Rejection]) -> Applied | None:
    """Publish the acceptable signals; return None where the broker does not confirm in time, to apply them directly."""
    if _broker.is_resting:
        return None
    checked = refuse_unregistered(items)
    try:
        if checked.accepted:
            with _broker.call(failures=(NotPublished,)):
                publish_signals(checked.accepted)
    except (NotPublished, EngineUnavailable):
        return None
    record_rejections(checked.refused.values(), now=timezone.now())
    return checked


def _answer(applied: Applied) -> Answer:
    refused: list[RejectedItem] = [
        {"index": place, "code": refusal.code.value, "message": refusal.message}
        for place, refusal in sorted(applied.refused.items())
    ]
    return {"accepted": len(applied.accepted), "rejected": refused}
