"""States as they are kept: a skeleton of JSON, and what is large in it apart, by its content.

A part of more than 512 bytes is replaced by `{"$": digest}`, so that a version costs what has changed. Parts lie within
parts. A key of the state's own that begins with `$` gets another one in front. Pure: texts in, texts out.
"""

import hashlib
from base64 import urlsafe_b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import msgspec

from processes.workflows.engine.running import State

SMALL = 512
WHOLE = 2048
"""A state up to this size is kept in one piece: to take it apart would cost more than it saves."""
DEEPEST = 6

_encode = msgspec.json.Encoder().encode


@dataclass(frozen=True)
class Stored:
    skeleton: str
    bodies: dict[str, str] = field(default_factory=dict)
    """By digest."""


def split(state: State) -> Stored:
    """Take a state apart."""
    text = _encode(state)
    if len(text) <= WHOLE and b'"$' not in text:
        return Stored(text.decode())
    bodies: dict[str, str] = {}
    skeleton = {_escape(key): _shrink(value, bodies, 1) for key, value in state.items()}
    return Stored(_encode(skeleton).decode(), bodies)


def join(skeleton: str, bodies: Mapping[str, str]) -> State:
    """Put a state together again."""
    state = msgspec.json.decode(skeleton)
    if '"$' in skeleton:
        state = _grow(state, lambda digest: msgspec.json.decode(bodies[digest]))
    return cast(State, state)


def _shrink(value: Any, bodies: dict[str, str], depth: int) -> Any:
    text = _encode(value)
    if len(text) <= SMALL:
        return _escape_all(value) if b'"$' in text else value
    if depth < DEEPEST and isinstance(value, dict):
        value = {_escape(key): _shrink(each, bodies, depth + 1) for key, each in value.items()}
    elif depth < DEEPEST and isinstance(value, list):
        value = [_shrink(each, bodies, depth + 1) for each in value]
    else:
        value = _escape_all(value)
    text = _encode(value)
    if len(text) <= SMALL:
        return value
    digest = urlsafe_b64encode(hashlib.sha256(text).digest()).decode().rstrip("=")
    bodies[digest] = text.decode()
    return {"$": digest}


def _escape(key: str) -> str:
    return f"${key}" if key.startswith("$") else key


def _escape_all(value: Any) -> Any:
    if isinstance(value, dict):
        return {_escape(key): _escape_all(each) for key, each in value.items()}
    return [_escape_all(each) for each in value] if isinstance(value, list) else value


def _grow(value: Any, read: Callable[[str], Any]) -> Any:
    if isinstance(value, dict):
        if "$" in value:
            return _grow(read(value["$"]), read)
        return {key.removeprefix("$"): _grow(each, read) for key, each in value.items()}
    return [_grow(each, read) for each in value] if isinstance(value, list) else value
