"""What a seed has in store for a run: how often threads are interleaved, and which faults come how often."""

from collections.abc import Collection
from dataclasses import dataclass, field
from hashlib import blake2b
from random import Random

FAULTS = ("kill", "stop", "cut", "refuse", "lie", "step", "disk", "broker")
"""A process dies; it is stopped, perhaps past its lease; a statement loses its connection; a commit fails; a commit
succeeds and reports failure; a clock is set back or forth; the disk is full, or fails; a connection
to the broker is lost."""
_RARE = (0.0, 0.0, 0.004, 0.015)
_SWITCHES = (0.02, 0.15, 0.4)

Place = tuple[str, int]
"""The n-th side effect of a process: what happens there hangs on the seed and on nothing else."""


@dataclass(frozen=True)
class Rolls:
    """The dice of one place, each between 0 and 1."""

    switch: float
    fault: float
    choice: float
    time: float


@dataclass(frozen=True)
class Nature:
    seed: int
    rates: dict[str, float]
    switch: float
    without: Collection[Place] = field(default=frozenset())
    """Places where no fault happens, although the seed has one there: how a failing run is shrunk."""
    steady: Collection[Place] = field(default=frozenset())
    """Places where no other thread gets its turn, although the seed says so."""

    def roll(self, place: Place) -> Rolls:
        digest = blake2b(f"{self.seed}/{place[0]}/{place[1]}".encode(), digest_size=16).digest()
        return Rolls(*(int.from_bytes(digest[n : n + 4], "big") / 2**32 for n in range(0, 16, 4)))

    def choose_fault(self, place: Place, rolls: Rolls, possible: Collection[str], weight: float) -> str | None:
        """Return the fault of this place, if it has one and it is possible there."""
        edge = 0.0
        for fault in FAULTS:
            edge += weight * self.rates.get(fault, 0.0)
            if rolls.fault < edge:
                return fault if fault in possible and place not in self.without else None
        return None


def draw_nature(
    seed: int,
    *,
    faults: Collection[str] = FAULTS,
    without: Collection[Place] = frozenset(),
    steady: Collection[Place] = frozenset(),
) -> Nature:
    """Draw what a seed has in store. Some seeds have no faults at all, some one kind, some all of them."""
    dice = Random(f"nature/{seed}")
    rates = {fault: dice.choice(_RARE) for fault in FAULTS}
    if dice.random() < 0.2:
        rates = dict.fromkeys(FAULTS, 0.0)
    allowed = {fault: rate for fault, rate in rates.items() if fault in faults}
    return Nature(seed, allowed, dice.choice(_SWITCHES), frozenset(without), frozenset(steady))
