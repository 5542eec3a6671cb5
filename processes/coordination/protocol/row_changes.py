"""Row changes: what a payload carries, one change of one row with the values before and after it."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import msgspec
import structlog
from django.core.exceptions import ValidationError

from processes.coordination.schema.entities import BY_NAME, Entity, Key, Op, Values

# What decoding JSON of any other shape may raise: no JSON, nested too deeply, a number where an object should be.
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
    content = {"entity": change.entity.name, "op": change.op, "id": change.id}
    return msgspec.json.encode(content | {"before": change.before, "after": change.after}).decode()


def decode_change(content: str) -> RowChange:
    try:
        fields = msgspec.json.decode(content)
        entity = BY_NAME[fields["entity"]]
        before, after = (entity.read_values(fields[side]) for side in ("before", "after"))
        return RowChange(entity, entity.read_key(fields["id"]), before, after)
    except _OTHER_SHAPES as error:
        raise UnreadablePayload(f"{error!r}"[:200]) from error


def decode_readable_changes(contents: Iterable[str]) -> Iterator[RowChange]:
    """Yield the changes of payloads; one that cannot be read is logged and passed over."""
    for content in contents:
        try:
            yield decode_change(content)
        except UnreadablePayload as error:
            log.error("coordination.unreadable_payload", error=str(error))


def decode_key(content: str) -> Key:
    """Return the key of the row that a payload changes, even if its values cannot be read."""
    try:
        fields = msgspec.json.decode(content)
        return BY_NAME[fields["entity"]].name, str(fields["id"])
    except _OTHER_SHAPES as error:
        raise UnreadablePayload(f"{error!r}"[:200]) from error


def decode_touched(content: str) -> set[Key]:
    """Return the keys that the change of a payload touches, without converting its values."""
    try:
        fields = msgspec.json.decode(content)
        return BY_NAME[fields["entity"]].touched(fields["id"], fields["before"], fields["after"])
    except _OTHER_SHAPES as error:
        raise UnreadablePayload(f"{error!r}"[:200]) from error


def fold_changes(changes: Iterable[RowChange]) -> list[RowChange]:
    """Return one change per row: from before its first to after its last change, in the order of the last ones."""
    folded: dict[Key, RowChange] = {}
    for change in changes:
        earlier = folded.pop(change.key, change)
        folded[change.key] = RowChange(change.entity, change.id, earlier.before, change.after)
    return list(folded.values())
