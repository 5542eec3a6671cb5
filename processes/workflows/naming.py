"""What an instance and its work are called outside: in events, alerts, the log, and in calls."""

from uuid import UUID

from config.common.ids import new_id


def subject_of(instance_id: UUID | str) -> str:
    return f"workflow/{instance_id}"


def new_instance_id() -> UUID:
    """Make an id whose order is that of time: new rows lie together in every index."""
    return new_id()


def task_id(instance_id: UUID | str, local: str) -> str:
    """Name a task, timer or job of an instance everywhere: one id serves commands and calls about external tasks."""
    return f"{instance_id}.{local}"


def local_id(instance_id: UUID | str, task: str) -> str:
    """Read the id of a task back to what the state calls it; one of another instance stays as it is: nobody has it."""
    return task.removeprefix(f"{instance_id}.")


def instance_of(task: str) -> UUID | None:
    """Read which instance a task belongs to; None where the id is none of ours."""
    try:
        return UUID(task.partition(".")[0])
    except ValueError:
        return None


def epoch_of(local: str) -> int:
    """Return the epoch in which an id of a state was given; a text that is no such id belongs to none."""
    epoch = local.partition(".")[0]
    return int(epoch) if epoch.isascii() and epoch.isdigit() and len(epoch) < 10 else -1
