"""What a payload carries: one change of one row, with the values before and after it; and many of them as one."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import msgspec
import structlog
from django.core.exceptions import ValidationError

from processes.coordination.schema.entities import BY_NAME, Entity, Key, Op, Values

# What reading JSON of any other shape may raise: no JSON, nested too deeply, a number where an object should be.
_OTHER_SHAPES = (
    msgspec.MsgspecError,
    ValidationError,
    KeyError,
    TypeError,
    AttributeError,
    ValueError,
    RecursionError,
)

log = structlog.get_logger(__name__)


class UnreadablePayload(Exception):
    """A payload that this version does not understand: the Writer knows more entities, or other fields."""


@dataclass(frozen=True)
class RowChange:
    entity: Entity
    id: Any
    before: Values | None
    after: Values | None

    @property
    def op(self) -> Op:
        if self.before is None:
            return Op.INSERT
        return Op.DELETE if self.after is None else Op.UPDATE

    @property
    def key(self) -> Key:
        return self.entity.name, str(self.id)

    @property
    def touched(self) -> set[Key]:
        return self.entity.touched(self.id, self.before, self.after)


def encode_change(change: RowChange) -> str:
    told = {"entity": change.entity.name, "op": change.op, "id": change.id}
    return msgspec.json.encode(told | {"before": change.before, "after": change.after}).decode()


def decode_change(content: str) -> RowChange:
    try:
        told = msgspec.json.decode(content)
        entity = BY_NAME[told["entity"]]
        before, after = (entity.read_values(told[side]) for side in ("before", "after"))
        return RowChange(entity, entity.read_key(told["id"]), before, after)
    except _OTHER_SHAPES as error:
        raise UnreadablePayload(f"{error!r}"[:200]) from error


def decode_readable_changes(contents: Iterable[str]) -> Iterator[RowChange]:
    """Read payloads for those who look at many events: one that cannot be read is logged and passed over."""
    for content in contents:
        try:
            yield decode_change(content)
        except UnreadablePayload as error:
            log.error("coordination.unreadable_payload", error=str(error))


def decode_key(content: str) -> Key:
    """Return the row that a payload changes, though its values may not be readable."""
    try:
        told = msgspec.json.decode(content)
        return BY_NAME[told["entity"]].name, str(told["id"])
    except _OTHER_SHAPES as error:
        raise UnreadablePayload(f"{error!r}"[:200]) from error


def decode_touched(content: str) -> set[Key]:
    """Return what the change of a payload touches, without making values of models from those of JSON."""
    try:
        told = msgspec.json.decode(content)
        return BY_NAME[told["entity"]].touched(told["id"], told["before"], told["after"])
    except _OTHER_SHAPES as error:
        raise UnreadablePayload(f"{error!r}"[:200]) from error


def fold_changes(changes: Iterable[RowChange]) -> list[RowChange]:
    """Make one change of several to the same row: from before the first to after the last, in the order of the last."""
    folded: dict[Key, RowChange] = {}
    for change in changes:
        earlier = folded.pop(change.key, change)
        folded[change.key] = RowChange(change.entity, change.id, earlier.before, change.after)
    return list(folded.values())
