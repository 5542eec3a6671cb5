"""Instance states as the database stores them: a JSON skeleton, and large parts apart in bodies named by their digest.

A part of more than 512 bytes is replaced by `{"$": digest}`, so that a version costs what has changed. Bodies may hold
further references. A key of the state's own that begins with `$` is escaped by a second one. Pure: texts in, texts out.

A variable that is stored apart stays text until its value is asked for (`LazyVariables`): a command that does not use
it, and a page that only copies it, do not pay for its size.
"""

import hashlib
from base64 import urlsafe_b64encode
from collections.abc import ItemsView, Iterator, Mapping, ValuesView
from dataclasses import dataclass, field
from typing import Any, NamedTuple, cast

import msgspec

from processes.workflows.engine.runner import InstanceState

SMALL = 512
WHOLE = 2048
"""A state up to this size is stored in one piece: splitting it would cost more than it saves."""
DEEPEST = 6
RECORD = 2
"""The depth of the records in a state: below their section, by their ids."""
LARGE = ("variables", "inputs")
"""The fields of a record that hold variables."""

_encode = msgspec.json.Encoder().encode


@dataclass(frozen=True)
class StoredState:
    skeleton: str
    bodies: dict[str, str] = field(default_factory=dict)
    """By digest."""


def split_state(state: InstanceState) -> StoredState:
    """Split a state into a skeleton and the bodies it refers to."""
    text = _encode(state)
    if len(text) <= WHOLE and b'"$' not in text:
        return StoredState(text.decode())
    bodies: dict[str, str] = {}
    skeleton = {_escape(key): _shrink(value, bodies, 1) for key, value in state.items()}
    return StoredState(_encode(skeleton).decode(), bodies)


def join_state(skeleton: str, bodies: Mapping[str, str]) -> InstanceState:
    """Rebuild a state from its skeleton and bodies; large variables stay undecoded."""
    state = msgspec.json.decode(skeleton)
    if '"$' in skeleton:
        state = _grow(state, bodies)
    return cast(InstanceState, state)


def section(state: Mapping[str, Any], name: str) -> dict[str, dict[str, Any]]:
    """Return one section of a state, such as its tasks by their ids; an absent one is empty."""
    found: dict[str, dict[str, Any]] = state.get(name) or {}
    return found


class StoredVariable(NamedTuple):
    """A variable of which parts, or the whole, are stored in bodies."""

    stored: Any
    """The reference that replaces it in the skeleton."""
    value: Any
    """Its text as `Raw`, or the value decoded from it."""
    parts: Mapping[str, str]
    """The bodies that it is stored in."""


class LazyVariables(dict[str, Any]):
    """Variables of which large ones are decoded when their value is first asked for.

    They behave like any other map. The JSON encoder writes undecoded texts as they stand, and splitting the state again
    recognises a variable that nobody has changed.
    """

    def __init__(self, values: Mapping[str, Any], stored: Mapping[str, StoredVariable]) -> None:
        super().__init__(values)
        self._stored = dict(stored)

    def find_stored(self, name: str) -> StoredVariable | None:
        """Return how a variable is stored, or None if it has been assigned since."""
        stored = self._stored.get(name)
        return stored if stored is not None and stored.value is super().get(name) else None

    def __getitem__(self, name: str) -> Any:
        value = super().__getitem__(name)
        if type(value) is not msgspec.Raw:
            return value
        decoded = msgspec.json.decode(value)
        self._stored[name] = self._stored[name]._replace(value=decoded)
        super().__setitem__(name, decoded)
        return decoded

    def __iter__(self) -> Iterator[str]:
        # Overridden so that `dict(…)` and `{**…}` go through __getitem__ instead of copying the undecoded values.
        return super().__iter__()

    def get(self, name: str, default: Any = None) -> Any:
        if name not in self:
            return default
        return self[name]

    def items(self) -> ItemsView[str, Any]:  # type: ignore[override]
        return self._decode_all().items()

    def values(self) -> ValuesView[Any]:  # type: ignore[override]
        return self._decode_all().values()

    def copy(self) -> "LazyVariables":
        """Copy the map without decoding anything in it."""
        same = LazyVariables({}, {})
        dict.update(same, {name: super(LazyVariables, self).__getitem__(name) for name in self})
        same._stored = dict(self._stored)
        return same

    def __eq__(self, other: object) -> bool:
        return self._decode_all() == (other._decode_all() if isinstance(other, LazyVariables) else other)

    __hash__ = None

    def _decode_all(self) -> dict[str, Any]:
        return {name: self[name] for name in self}


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
    stored = variables.find_stored(name)
    if stored is None:
        return _shrink(variables[name], bodies, depth)
    bodies |= stored.parts
    return stored.stored


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
                key: _make_lazy(each, bodies) if key in LARGE else _grow(each, bodies, depth + 1)
                for key, each in value.items()
            }
        return {key.removeprefix("$"): _grow(each, bodies, depth + 1) for key, each in value.items()}
    return [_grow(each, bodies, depth + 1) for each in value] if isinstance(value, list) else value


def _make_lazy(variables: dict[str, Any], bodies: Mapping[str, str]) -> LazyVariables:
    if "$" in variables:
        variables = msgspec.json.decode(bodies[variables["$"]])
    values: dict[str, Any] = {}
    stored: dict[str, StoredVariable] = {}
    for escaped, value in variables.items():
        name = escaped.removeprefix("$")
        values[name] = value
        if isinstance(value, dict | list) and b'"$' in _encode(value):
            parts: dict[str, str] = {}
            values[name] = msgspec.Raw(_encode(_fill(value, bodies, parts)))
            stored[name] = StoredVariable(value, values[name], parts)
    return LazyVariables(values, stored)


def _expand(digest: str, bodies: Mapping[str, str], parts: dict[str, str]) -> bytes:
    """Return the text of a body with its references filled in; add every body that was used to `parts`."""
    text = parts[digest] = bodies[digest]
    if '"$' not in text:
        return text.encode()
    return _encode(_fill(msgspec.json.decode(text), bodies, parts))


def _fill(value: Any, bodies: Mapping[str, str], parts: dict[str, str]) -> Any:
    if isinstance(value, dict):
        if "$" in value:
            return msgspec.Raw(_expand(value["$"], bodies, parts))
        return {key.removeprefix("$"): _fill(each, bodies, parts) for key, each in value.items()}
    return [_fill(each, bodies, parts) for each in value] if isinstance(value, list) else value
