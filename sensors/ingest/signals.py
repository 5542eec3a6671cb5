"""Signals, and how the text that sensors send is parsed into signals or refusals with a reason. No database.

Times are whole milliseconds since 1970: that is what the contract keeps, and integers are what the fold compares.
"""

import itertools
import os
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, Any, Literal

import msgspec

from config.common.text import clean_text
from config.common.times import to_milliseconds

MAX_BODY = 256 * 1024
MAX_LIST = 1000
TOO_LONG = f"a list holds at most {MAX_LIST} signals"
EARLIEST = int(datetime(2020, 1, 1, tzinfo=UTC).timestamp()) * 1000
AHEAD = 5 * 60 * 1000
"""How far a signal may be ahead of its receipt, in milliseconds: clocks of sensors drift."""
SIGNAL_ID = re.compile(r"[A-Za-z0-9:._-]{1,64}")


class Code(StrEnum):
    """Why a signal is refused: the `code` of the contract."""

    UNKNOWN_SENSOR = "unknown_sensor"
    INACTIVE_SENSOR = "inactive_sensor"
    BAD_DATA = "bad_data"
    BAD_TIME = "bad_time"
    FROM_THE_FUTURE = "from_the_future"
    BAD_JSON = "bad_json"
    BAD_SHAPE = "bad_shape"


class Signal(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One accepted signal; `(sensor_id, at, id)` is its identity."""

    sensor_id: str
    at: int
    id: str
    data: int
    received_at: int
    correlation_id: str = ""


class Rejection(msgspec.Struct, frozen=True):
    """One refused signal: its place in the message, the reason, and the text as it was sent."""

    index: int
    code: Code
    message: str
    sensor_id: str = ""
    raw: str = ""
    correlation_id: str = ""


class Origin(msgspec.Struct, frozen=True):
    """What is known of a message beside its body."""

    received_at: int
    message_id: str | None = None
    timestamp: int | None = None
    correlation_id: str = ""
    over_rest: bool = False


class SentSignal(msgspec.Struct):
    """One signal as it is sent, over REST and AMQP."""

    sensor_id: str
    data: Literal[0, 1]
    at: Annotated[datetime, msgspec.Meta(tz=True)] | None = None
    id: str | None = None


_one = msgspec.json.Decoder(SentSignal)
_many = msgspec.json.Decoder(list[SentSignal])
_sequence = itertools.count()
_process = os.urandom(4).hex()


def read_signals(body: bytes, origin: Origin) -> list[Signal | Rejection]:
    """Return a signal or a refusal for each item of a message, in order.

    The usual message is decoded straight into types; only one that does not fit is looked at item by item.
    """
    if len(body) > MAX_BODY and not origin.over_rest:
        return [_refuse(0, Code.BAD_SHAPE, f"the message is larger than {MAX_BODY} bytes", body, origin)]
    is_list = body.lstrip()[:1] == b"["
    try:
        wires = _decode(body, is_list)
        items = list(_read_items(body, origin)) if wires is None else None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return [_refuse(0, Code.BAD_JSON, str(error) or "nested too deeply", body, origin)]
    if wires is None:
        return items or []
    if len(wires) > MAX_LIST:
        return [_refuse(0, Code.BAD_SHAPE, TOO_LONG, body, origin)]
    return [_make(index, wire, origin, is_list) for index, wire in enumerate(wires)]


def _decode(body: bytes, is_list: bool) -> list[SentSignal] | None:
    """Return the typed items, or None where the text is JSON of another shape."""
    try:
        return _many.decode(body) if is_list else [_one.decode(body)]
    except msgspec.ValidationError:
        return None


def _make(index: int, wire: SentSignal, origin: Origin, is_list: bool) -> Signal | Rejection:
    sensor_id = wire.sensor_id
    if not (sensor_id.isascii() and sensor_id.isalnum() and len(sensor_id) <= 16):
        return _refuse_wire(index, wire, origin, Code.UNKNOWN_SENSOR, "a sensor id has 1 to 16 letters and digits")
    if wire.at is None and wire.id is not None and origin.over_rest:
        return _refuse_wire(index, wire, origin, Code.BAD_TIME, "a signal with an id needs its time")
    at = _time_of(wire, origin)
    if at < EARLIEST:
        return _refuse_wire(index, wire, origin, Code.BAD_TIME, "a signal cannot be older than 2020")
    if at > origin.received_at + AHEAD:
        return _refuse_wire(
            index, wire, origin, Code.FROM_THE_FUTURE, "more than five minutes ahead of the time of receipt"
        )
    signal_id = _id_of(index, wire, origin, is_list)
    if not SIGNAL_ID.fullmatch(signal_id):
        return _refuse_wire(index, wire, origin, Code.BAD_SHAPE, "an id has 1 to 64 characters of A-Z a-z 0-9 : . _ -")
    return Signal(sensor_id, at, signal_id, wire.data, origin.received_at, origin.correlation_id)


def _time_of(wire: SentSignal, origin: Origin) -> int:
    if wire.at is not None:
        return to_milliseconds(wire.at)
    if origin.timestamp is not None:
        return origin.timestamp * 1000
    return origin.received_at


def _id_of(index: int, wire: SentSignal, origin: Origin, is_list: bool) -> str:
    if wire.id is not None:
        return wire.id
    if origin.message_id is not None:
        return f"{origin.message_id}:{index}" if is_list else origin.message_id
    return f"{origin.received_at:012x}-{next(_sequence):08x}-{_process}"


def _read_items(body: bytes, origin: Origin) -> Iterator[Signal | Rejection]:
    """Yield the items of a message that does not fit the types: the good ones, and a refusal for each bad one."""
    parsed = msgspec.json.decode(body)
    is_list = isinstance(parsed, list)
    items: list[Any] = parsed if is_list else [parsed]
    if len(items) > MAX_LIST:
        yield _refuse(0, Code.BAD_SHAPE, TOO_LONG, body, origin)
        return
    for index, item in enumerate(items):
        try:
            wire = msgspec.convert(item, SentSignal)
        except msgspec.ValidationError as error:
            yield _refuse_item(index, item, origin, str(error))
        else:
            yield _make(index, wire, origin, is_list)


def _refuse_item(index: int, item: Any, origin: Origin, error: str) -> Rejection:
    sensor_id = item.get("sensor_id") if isinstance(item, dict) else None
    named = sensor_id if isinstance(sensor_id, str) else ""
    code = Code.BAD_SHAPE
    if named and error.endswith("`$.data`"):
        code = Code.BAD_DATA
    elif named and error.endswith("`$.at`"):
        code = Code.BAD_TIME
    elif named and "data" in error and "missing" in error:
        code = Code.BAD_DATA
    return _refuse(index, code, _RULES.get(code, error), msgspec.json.encode(item), origin, named)


_RULES = {
    Code.BAD_DATA: "data must be the number 0 or 1",
    Code.BAD_TIME: "at must be a time such as 2026-01-31T12:00:00.000Z",
}


def _refuse_wire(index: int, wire: SentSignal, origin: Origin, code: Code, message: str) -> Rejection:
    return _refuse(index, code, message, msgspec.json.encode(wire), origin, wire.sensor_id)


def _refuse(  # noqa: PLR0913 (the parts of a refusal)
    index: int, code: Code, message: str, raw: bytes, origin: Origin, sensor_id: str = ""
) -> Rejection:
    words, named, text = clean_text(message, 300), clean_text(sensor_id, 64), clean_text(raw, 1024)
    return Rejection(index, code, words, named, text, origin.correlation_id)
