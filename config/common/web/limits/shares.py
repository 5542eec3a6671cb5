"""An amount that all callers share, so that no one of them can hold it all."""

from enum import IntEnum
from typing import NamedTuple


class Standing(IntEnum):
    """How much is known of a caller; those with the lower number go first."""

    CROWD = 0
    """A proxy: many callers by one address. It has no share: its callers have theirs where they are told apart."""
    KNOWN = 1
    """Its key or session was found to be right a little while ago."""
    STRANGER = 2
    """Counted by its address, and by the key it shows as long as nobody has looked at that."""


class Caller(NamedTuple):
    name: str
    standing: Standing

    @property
    def payer(self) -> str:
        """The name under which what it uses is counted: strangers are one, for who makes keys up would be many."""
        return "" if self.standing is Standing.STRANGER else self.name


class Shares:
    """So many of something, lent to callers.

    A caller may hold half as much as is still free: alone it gets a third of all, and the more others there are the
    less each of them. What is given back goes to those who have little, so a newcomer soon has its part however many
    take all they get. Strangers together get no more than half: however many addresses they come from, the rest is for
    those who are known.
    """

    def __init__(self, total: int, *, part: float = 0.5, each: int | None = None, strangers: float = 0.5) -> None:
        self._free = total
        self._part = part
        self._each = total if each is None else each
        self._strangers_left = max(1, int(total * strangers))
        self._held: dict[Caller, int] = {}

    def held_by(self, caller: Caller) -> int:
        return self._held.get(caller, 0)

    def fits(self, caller: Caller, amount: int = 1) -> bool:
        if amount > self._free:
            return False
        if caller.standing is Standing.CROWD:
            return True
        if caller.standing is Standing.STRANGER and amount > self._strangers_left:
            return False
        held = self._held.get(caller, 0) + amount
        return held <= self._each and (held <= self._free * self._part or held == 1)

    def take(self, caller: Caller, amount: int = 1) -> bool:
        """Lend it, or say that this would be more than its share."""
        if not self.fits(caller, amount):
            return False
        self._free -= amount
        self._held[caller] = self._held.get(caller, 0) + amount
        if caller.standing is Standing.STRANGER:
            self._strangers_left -= amount
        return True

    def give_back(self, caller: Caller, amount: int = 1) -> None:
        self._free += amount
        left = self._held[caller] - amount
        if left:
            self._held[caller] = left
        else:
            del self._held[caller]
        if caller.standing is Standing.STRANGER:
            self._strangers_left += amount
