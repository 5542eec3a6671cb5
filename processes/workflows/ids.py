"""Ids of instances and of what is in them: local ones as `epoch.number`, public ones with the instance in front."""

from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid5

from config.common.ids import new_id

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def new_instance_id() -> UUID:
    # Ordered by time, so that new rows lie together in every index. Migrations name this function.
    return new_id()


def public_id(instance_id: UUID | str, local: str) -> str:
    """Return the id under which callers know a timer, an item or an effect of an instance."""
    return f"{instance_id}.{local}"


def public_task_id(instance_id: UUID | str, local: str, since: datetime) -> str:
    """Return the id under which callers know a task: with the time it was opened at.

    After a restore of the database an instance may give the same number to another task. That one was opened at another
    time, so nobody who has the earlier id completes it by mistake.
    """
    return f"{public_id(instance_id, local)}.{_stamp(since)}"


def message_id_of(instance_id: UUID, local: str, at: datetime) -> str:
    """Return the id of the message that an effect sends.

    It is the same when the effect is dispatched again, and another for one that has its number after a restore.
    """
    return str(uuid5(instance_id, f"{local} {at.isoformat()}"))


def local_id(instance_id: UUID | str, task: str) -> str:
    """Return the id that the state has for a public id; one of another instance is returned as no state knows it."""
    return ".".join(task.removeprefix(f"{instance_id}.").split(".")[:2])


def matches_opened_at(task: str, since: datetime) -> bool:
    """Tell whether a public task id is of a task opened at this time; ids from before they had a time always match."""
    stamp = task.split(".")[3:]
    return not stamp or stamp == [_stamp(since)]


def _stamp(since: datetime) -> str:
    return f"{(since - _EPOCH) // timedelta(microseconds=1):x}"


def find_instance_id(task: str) -> UUID | None:
    """Return the instance that a public id names, or None where the text is no such id."""
    try:
        return UUID(task.partition(".")[0])
    except ValueError:
        return None


def parse_epoch(local: str) -> int:
    """Return the epoch of a local id, or -1 where the text is no such id."""
    epoch = local.partition(".")[0]
    return int(epoch) if epoch.isascii() and epoch.isdigit() and len(epoch) < 10 else -1
