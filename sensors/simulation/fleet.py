"""A fleet of door locks as it behaves in the field: doors open and close, batteries die, networks repeat and reorder.

Plain values from a seed: the same seed gives the same signals, so a drill can compare what was sent with what is kept.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TypedDict

from config.common.times import format_time


class Message(TypedDict):
    sensor_id: str
    data: int
    at: str
    id: str


@dataclass(frozen=True)
class Habits:
    """How the fleet behaves: the chances are per signal."""

    changes: float = 0.2
    duplicates: float = 0.05
    disorder: float = 0.05
    silences: float = 0.002
    longest_silence: timedelta = timedelta(hours=3)


@dataclass
class _Door:
    sensor_id: str
    value: int
    silent_until: datetime | None = None


@dataclass
class Fleet:
    """The doors, and the order in which their signals go out."""

    size: int
    seed: int = 1
    habits: Habits = field(default_factory=Habits)
    prefix: str = "sim"

    def __post_init__(self) -> None:
        self._chance = random.Random(self.seed)
        self._doors = [_Door(f"{self.prefix}{n:05}", self._chance.randrange(2)) for n in range(self.size)]
        self._held: list[Message] = []
        self._sent = 0

    @property
    def sensor_ids(self) -> list[str]:
        return [door.sensor_id for door in self._doors]

    def signals(self, at: datetime) -> Iterator[Message]:
        """Yield what one random door sends now: mostly one signal, sometimes none, twice, or a late one."""
        door = self._chance.choice(self._doors)
        if self._is_silent(door, at):
            return
        if self._chance.random() < self.habits.changes:
            door.value ^= 1
        message = self._message(door, at)
        if self._chance.random() < self.habits.disorder:
            self._held.append(message)
            return
        yield message
        if self._chance.random() < self.habits.duplicates:
            yield message
        if self._held and self._chance.random() < 0.5:
            yield self._held.pop(self._chance.randrange(len(self._held)))

    def rest(self) -> list[Message]:
        """Return the late signals that have not gone out yet."""
        rest, self._held = self._held, []
        return rest

    def _message(self, door: _Door, at: datetime) -> Message:
        self._sent += 1
        return {
            "sensor_id": door.sensor_id,
            "data": door.value,
            "at": format_time(at),
            "id": f"{self.seed}-{self._sent:010}",
        }

    def _is_silent(self, door: _Door, at: datetime) -> bool:
        if door.silent_until is not None and at < door.silent_until:
            return True
        door.silent_until = None
        if self._chance.random() < self.habits.silences:
            door.silent_until = at + self.habits.longest_silence * self._chance.random()
            return True
        return False
