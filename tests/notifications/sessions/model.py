"""What the contract says about sessions, in plain Python: the model that the database is compared with."""

import json
from dataclasses import dataclass, field
from typing import Any

LEASE = 30


@dataclass(frozen=True)
class ThemeRules:
    number: int
    timeout: int
    repeat_limit: int
    length_limit: int
    delay: int


@dataclass
class ModelSession:
    id: int
    theme: ThemeRules
    records: list[Any]
    deadline: int | None
    change: int = 1
    status: str = "active"
    repeats: int = 0
    is_repeating: bool = False
    place: int = 0

    @property
    def row(self) -> tuple[Any, ...]:
        return self.id, self.change, self.status, self.repeats, self.is_repeating, self.records


@dataclass
class Model:
    """All sessions, and a clock that only `advance` moves."""

    now: int = 0
    saves: int = 0
    sessions: dict[int, ModelSession] = field(default_factory=dict)

    def fits(self, theme: ThemeRules, records: list[Any]) -> bool:
        return len(json.dumps(records, separators=(",", ":"))) <= theme.length_limit

    def begin(self, session_id: int, theme: ThemeRules, records: list[Any]) -> None:
        self.sessions[session_id] = ModelSession(session_id, theme, records, self.now + theme.timeout)

    def edit(self, session: ModelSession, records: list[Any]) -> None:
        """A caller appends or rewrites: an active session is touched, any other keeps its time."""
        session.records, session.change = records, session.change + 1
        if session.status == "active":
            session.is_repeating, session.deadline = False, self.now + session.theme.timeout

    def save(self, session: ModelSession, delay: int) -> None:
        self.saves += 1
        session.status, session.is_repeating, session.place = "saved", False, self.saves
        session.change, session.deadline = session.change + 1, self.now + delay

    def claim(self, limit: int) -> list[ModelSession]:
        due = [each for each in self.sessions.values() if each.status == "saved" and each.deadline <= self.now]
        chosen = sorted(due, key=lambda each: (each.deadline, each.place))[:limit]
        for each in chosen:
            each.status, each.is_repeating = "active", True
            each.change, each.deadline = each.change + 1, self.now + LEASE
        return chosen

    def fail(self, session: ModelSession) -> None:
        session.repeats += 1
        if session.repeats < session.theme.repeat_limit:
            self.save(session, session.theme.delay)
            return
        session.status, session.is_repeating, session.deadline = "exhausted", False, None
        session.change += 1

    def lapse(self) -> None:
        """Whoever had an active session has fallen silent: a worker has died, or a caller has left."""
        silent = [each for each in self.sessions.values() if each.status == "active" and each.deadline <= self.now]
        for each in sorted(silent, key=lambda each: each.id):
            each.change += 1
            if each.is_repeating:
                self.fail(each)
            else:
                self.save(each, each.theme.delay)
