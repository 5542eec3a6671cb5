"""What an instance and its work are called outside: in events, alerts, the log, and in calls."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

from config.common.ids import new_id

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def subject_of(instance_id: UUID | str) -> str:
    return f"workflow/{instance_id}"


def new_instance_id() -> UUID:
    """Make an id whose order is that of time: new rows lie together in every index."""
    return new_id()


def public_id(instance_id: UUID | str, local: str) -> str:
    """Name a task, timer or job of an instance everywhere: one id serves commands and calls about external tasks."""
    return f"{instance_id}.{local}"


def public_task_id(instance_id: UUID | str, local: str, since: datetime) -> str:
    """Name a task for whoever is to complete it, for ever.

    When a database was restored, an instance counts on from where it was then: what is opened under an earlier number
    is opened at another time, so that nobody who was given the earlier one completes it.
    """
    return f"{public_id(instance_id, local)}.{_stamp(since)}"


def local_id(instance_id: UUID | str, task: str) -> str:
    """Read the id of a task back to what the state calls it; one of another instance stays as it is: nobody has it."""
    return ".".join(task.removeprefix(f"{instance_id}.").split(".")[:2])


def matches_opened_at(task: str, since: datetime) -> bool:
    """Tell whether the id was given to what was opened then; one from before ids had a time is believed."""
    stamp = task.split(".")[3:]
    return not stamp or stamp == [_stamp(since)]


def _stamp(since: datetime) -> str:
    return f"{(since - _EPOCH) // timedelta(microseconds=1):x}"


def find_instance_id(task: str) -> UUID | None:
    """Read which instance a task belongs to; None where the id is none of ours."""
    try:
        return UUID(task.partition(".")[0])
    except ValueError:
        return None


def parse_epoch(local: str) -> int:
    """Return the epoch in which an id of a state was given; a text that is no such id belongs to none."""
    epoch = local.partition(".")[0]
    return int(epoch) if epoch.isascii() and epoch.isdigit() and len(epoch) < 10 else -1
