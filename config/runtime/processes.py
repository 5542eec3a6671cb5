"""The table of processes: what `manage.py up` starts, and what `compose.yaml` has a service for."""

from collections.abc import Callable
from dataclasses import dataclass

from config.environment.table import Environment


@dataclass(frozen=True)
class Process:
    name: str
    command: str
    """The command of `manage.py`."""
    is_needed: Callable[[Environment], bool] | None = None
    """Whether this environment calls for it; without it every one with a broker does."""
    arguments: tuple[str, ...] = ()


# In the order in which they are stopped: first what takes work in, last what does it.
PROCESSES = (
    Process("web", "run_web"),
    Process("beat", "run_beat"),
    Process("ingest", "run_ingest"),
    Process("history", "run_history"),
    Process("coordination", "run_coordination"),
    Process("scheduler", "run_scheduler"),
    Process("worker", "run_worker"),
)
# Beside them, where there is someone to tell: a process of its own, for the supervisor must stay without threads.
WATCH = Process("watch", "run_watch", lambda env: bool(env.admin_email or env.admin_phone))


def needed_processes(env: Environment) -> tuple[Process, ...]:
    """Return the processes that the engines call for; without a broker none, for then one process does it all."""
    if env.amqp_url is None:
        return ()
    return tuple(process for process in (*PROCESSES, WATCH) if process.is_needed is None or process.is_needed(env))
