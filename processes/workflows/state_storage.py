"""States as they are kept: a skeleton of JSON, and what is large in it apart, by its content.

A part of more than 512 bytes is replaced by `{"$": digest}`, so that a version costs what has changed. Parts lie within
parts. A key of the state's own that begins with `$` gets another one in front. Pure: texts in, texts out.

A variable that is kept apart stays the text that it is until somebody asks for its value (`KeptVariables`): a command
that does not, and a page that shows it, cost what the others do, however much the variable holds.
"""

import hashlib
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import msgspec

from processes.workflows.engine.runner import InstanceState
from processes.workflows.services.kept_variables import LazyVariables, StoredVariable

SMALL = 512
WHOLE = 2048
"""A state up to this size is kept in one piece: to take it apart would cost more than it saves."""
DEEPEST = 6
RECORD = 2
"""How deep the records of a state lie: in its sections, by their ids."""
LARGE = ("variables", "inputs")
"""What of a record holds variables."""

_encode = msgspec.json.Encoder().encode


@dataclass(frozen=True)
class StoredState:
    skeleton: str
    bodies: dict[str, str] = field(default_factory=dict)
    """By digest."""


def split_state(state: InstanceState) -> StoredState:
    """Take a state apart."""
    text = _encode(state)
    if len(text) <= WHOLE and b'"$' not in text:
        return StoredState(text.decode())
    bodies: dict[str, str] = {}
    skeleton = {_escape(key): _shrink(value, bodies, 1) for key, value in state.items()}
    return StoredState(_encode(skeleton).decode(), bodies)


def join_state(skeleton: str, bodies: Mapping[str, str]) -> InstanceState:
    """Put a state together again."""
    state = msgspec.json.decode(skeleton)
    if '"$' in skeleton:
        state = _grow(state, bodies)
    return cast(InstanceState, state)


def _shrink(value: Any, bodies: dict[str, str], depth: int) -> Any:
    text = _encode(value)
    if len(text) <= SMALL:
        return _escape_all(value) if b'"$' in text else value
    if isinstance(value, LazyVariables):
        value = {_escape(name): _shrink_variable(value, name, bodies, depth + 1) for name in value}
    elif depth < DEEPEST and isinstance(value, dict):
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


def _shrink_variable(variables: LazyVariables, name: str, bodies: dict[str, str], depth: int) -> Any:
    kept = variables.find_kept(name)
    if kept is None:
        return _shrink(variables[name], bodies, depth)
    bodies |= kept.parts
    return kept.stored


def _escape(key: str) -> str:
    return f"${key}" if key.startswith("$") else key


def _escape_all(value: Any) -> Any:
    if isinstance(value, dict):
        return {_escape(key): _escape_all(each) for key, each in value.items()}
    return [_escape_all(each) for each in value] if isinstance(value, list) else value


def _grow(value: Any, bodies: Mapping[str, str], depth: int = 0) -> Any:
    if isinstance(value, dict):
        if "$" in value:
            return _grow(msgspec.json.decode(bodies[value["$"]]), bodies, depth)
        if depth == RECORD:
            return {
                key: _keep(each, bodies) if key in LARGE else _grow(each, bodies, depth + 1)
                for key, each in value.items()
            }
        return {key.removeprefix("$"): _grow(each, bodies, depth + 1) for key, each in value.items()}
    return [_grow(each, bodies, depth + 1) for each in value] if isinstance(value, list) else value


def _keep(variables: dict[str, Any], bodies: Mapping[str, str]) -> LazyVariables:
    if "$" in variables:
        variables = msgspec.json.decode(bodies[variables["$"]])
    values: dict[str, Any] = {}
    kept: dict[str, StoredVariable] = {}
    for escaped, value in variables.items():
        name = escaped.removeprefix("$")
        values[name] = value
        if isinstance(value, dict | list) and b'"$' in _encode(value):
            parts: dict[str, str] = {}
            values[name] = msgspec.Raw(_encode(_filled(value, bodies, parts)))
            kept[name] = StoredVariable(value, values[name], parts)
    return LazyVariables(values, kept)


def _expand(digest: str, bodies: Mapping[str, str], parts: dict[str, str]) -> bytes:
    """Return the text of a body with the texts of the parts within it, and name them all."""
    text = parts[digest] = bodies[digest]
    if '"$' not in text:
        return text.encode()
    return _encode(_filled(msgspec.json.decode(text), bodies, parts))


def _filled(value: Any, bodies: Mapping[str, str], parts: dict[str, str]) -> Any:
    if isinstance(value, dict):
        if "$" in value:
            return msgspec.Raw(_expand(value["$"], bodies, parts))
        return {key.removeprefix("$"): _filled(each, bodies, parts) for key, each in value.items()}
    return [_filled(each, bodies, parts) for each in value] if isinstance(value, list) else value
