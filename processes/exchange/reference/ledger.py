"""What the ERP does with a message: it moves money on an account and notes the effect.

A real client replaces this module. `effect` has no unique key on purpose: were a message ever applied twice, there
would be two rows of it and a wrong balance, and a drill would see both.
"""

import hashlib
import json
from collections import Counter
from datetime import UTC, datetime
from typing import Any

from processes.exchange.reference.client import Message
from processes.exchange.reference.store import Store

NO_ACCOUNT_CODE = 1001
_TABLES = (
    "CREATE TABLE IF NOT EXISTS account (name TEXT PRIMARY KEY, balance BIGINT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS effect"
    " (message_id TEXT NOT NULL, process_id TEXT NOT NULL, at TEXT NOT NULL, digest TEXT NOT NULL)",
)


class IncorrectMessage(Exception):
    """The message can never be processed, however often it is tried."""

    def __init__(self, text: str, code: int) -> None:
        super().__init__(text)
        self.code = code


class Deadlock(Exception):
    """Another transaction was in the way; the message is offered again later."""


def open_store(address: str) -> Store:
    """Open the ERP's database, a path of SQLite or a `postgresql://` URL, with the tables of this ledger."""
    store = Store(address)
    for statement in _TABLES:
        store.execute(statement)
    return store


def can_process(message: Message) -> bool:
    """Return whether this program knows the kind of message at all (for API_2)."""
    return message["version"] == 1


def apply(store: Store, process_id: str, message: Message) -> dict[str, Any]:
    """Carry the message out inside the running transaction and return what the reply says."""
    account, amount = _read(message["payload"])
    sql = (
        "INSERT INTO account (name, balance) VALUES (?, ?)"
        " ON CONFLICT (name) DO UPDATE SET balance = account.balance + excluded.balance RETURNING balance"
    )
    [(balance,)] = store.execute(sql, account, amount)
    digest = hashlib.sha256(json.dumps(message["payload"], sort_keys=True).encode()).hexdigest()
    values = (message["id"], process_id, datetime.now(UTC).isoformat(), digest)
    store.execute("INSERT INTO effect (message_id, process_id, at, digest) VALUES (?, ?, ?, ?)", *values)
    return {"account": account, "balance": balance}


def count_effects(store: Store) -> Counter[str]:
    """Return how often each message took effect: once each, or something is broken."""
    return Counter(dict(store.execute("SELECT message_id, count(*) FROM effect GROUP BY message_id")))


def read_balances(store: Store) -> dict[str, int]:
    return dict(store.execute("SELECT name, balance FROM account"))


def _read(payload: Any) -> tuple[str, int]:
    match payload:
        case {"account": str(account), "amount": int(amount)} if account.isprintable() and abs(amount) < 10**12:
            return account, int(amount)
    raise IncorrectMessage("The payload names no account and whole amount.", NO_ACCOUNT_CODE)
