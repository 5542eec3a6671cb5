"""A system under simulation: its processes, when it has come to rest, and what an outsider may expect of it then."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import ClassVar

from tests.simulation.nature import FAULTS
from tests.simulation.scheduler import Scheduler


class World(ABC):
    name: ClassVar[str]
    seconds: ClassVar[float] = 60.0
    """How long the faults last."""
    patience: ClassVar[float] = 3600.0
    """How long it may take then to come to rest."""
    rest_seconds: ClassVar[float] = 20.0
    """How long nobody looks then whether it has."""
    faults: ClassVar[Collection[str]] = FAULTS
    seeds: ClassVar[range] = range(12)
    """Those of `make test`: about five seconds of work, and the mutants that name this world are noticed in them."""

    def __init__(self, scheduler: Scheduler, size: int) -> None:
        self.scheduler, self.size = scheduler, size

    def in_place(self) -> AbstractContextManager[None]:
        """Patch the borders that this system alone has."""
        return nullcontext()

    @abstractmethod
    def begin(self) -> None:
        """Write what there is at first and start the processes."""

    @abstractmethod
    def is_quiet(self) -> bool:
        """Return whether nothing is left to do."""

    def end(self) -> None:  # noqa: B027  (most have nothing left)
        """Do what is left to do when everybody has ended."""

    @abstractmethod
    def check(self) -> Iterator[str]:
        """Yield what is wrong, as an outsider sees it."""

    def was_disturbed(self, start: float, end: float, *, process: str = "", kinds: Collection[str] = FAULTS) -> bool:
        """Return whether a process, or any, has met one of these faults within this time."""
        return any(
            each.at <= end and each.until >= start and each.kind in kinds and process in ("", each.process)
            for each in self.scheduler.disturbances
        )
