"""Deadlocks, incorrect messages, failing commits and sudden deaths, by chance."""

import os
import random
from collections.abc import Callable
from dataclasses import dataclass

from processes.exchange.reference.client import Message
from processes.exchange.reference.hooks import Hooks, Point
from processes.exchange.reference.ledger import Deadlock, IncorrectMessage
from processes.exchange.reference.store import Store

INCORRECT_CODE = 1002
EXIT_CODE = 70


@dataclass(frozen=True)
class Rates:
    """Chances from 0 to 1: the first three per message, the others per process."""

    deadlock: float = 0.0
    incorrect: float = 0.0
    leave_out: float = 0.0
    commit_failure: float = 0.0
    crash: float = 0.0


def die() -> None:
    """End like a power cut: nothing is flushed, closed or rolled back."""
    os._exit(EXIT_CODE)


class Faults(Hooks):
    """Throw the dice anew for every process, so that an ERP started again does not die at the same place forever.

    Whether a message is incorrect depends on its id alone: it is so in every process, as a wrong message is.
    """

    def __init__(self, rates: Rates, *, seed: int = 1, die: Callable[[], None] = die) -> None:
        self._rates, self._seed, self._die = rates, seed, die

    def is_incorrect(self, message_id: str) -> bool:
        return self._happens(self._rates.incorrect, "incorrect", message_id)

    def reached(self, point: Point, process_id: str) -> None:
        chance = self._chance("crash", process_id)
        if chance.random() < self._rates.crash and chance.choice(list(Point)) == point:
            self._die()

    def leaves_out(self, process_id: str, message: Message) -> bool:
        return self._happens(self._rates.leave_out, "leave out", process_id, message["id"])

    def applied(self, process_id: str, message: Message) -> None:
        if self.is_incorrect(message["id"]):
            raise IncorrectMessage("Injected: this message is incorrect.", INCORRECT_CODE)
        if self._happens(self._rates.deadlock, "deadlock", process_id, message["id"]):
            raise Deadlock("injected")

    def committing(self, process_id: str, store: Store) -> None:
        """Make the database itself refuse the commit, by a reference that is only checked there."""
        if self._happens(self._rates.commit_failure, "commit", process_id):
            store.execute(
                "CREATE TABLE IF NOT EXISTS injected"
                " (account TEXT REFERENCES account (name) DEFERRABLE INITIALLY DEFERRED)"
            )
            store.execute("INSERT INTO injected (account) VALUES ('no such account')")

    def _happens(self, rate: float, *key: str) -> bool:
        return self._chance(*key).random() < rate

    def _chance(self, *key: str) -> random.Random:
        return random.Random("/".join((str(self._seed), *key)))
