"""What the simulated devices sent, fetched and confirmed: durable, so that a killed simulator goes on where it stopped.

A message is in the journal before its first call, with the exact body: as long as no answer came it is sent again,
the same id with the same bytes. Afterwards a drill compares these sets with those of the server and the ERP.
"""

import json
import secrets
import sqlite3
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from config.common.times import format_time
from messaging.simulation.calls import Message, encode

_TABLES = """
CREATE TABLE IF NOT EXISTS run (token TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS sent (
    number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, device TEXT NOT NULL, body BLOB NOT NULL,
    accepted_at TEXT, refused TEXT, receipt TEXT);
CREATE INDEX IF NOT EXISTS sent_unanswered ON sent (device) WHERE accepted_at IS NULL AND refused IS NULL;
CREATE TABLE IF NOT EXISTS fetched (
    device TEXT NOT NULL, id TEXT NOT NULL, reply_to TEXT, times INTEGER NOT NULL, confirmed_at TEXT,
    came_back INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (device, id));
CREATE INDEX IF NOT EXISTS fetched_unconfirmed ON fetched (device) WHERE confirmed_at IS NULL;
"""


@dataclass(frozen=True)
class Sent:
    id: str
    body: bytes


@dataclass(frozen=True)
class Totals:
    written: int
    accepted: int
    refused: int
    fetched: int
    confirmed: int
    came_back: int
    """Messages that were offered again after their confirmation was answered: there must be none."""


class Journal:
    """One SQLite file, shared by the threads of a simulator."""

    def __init__(self, path: Path | str) -> None:
        self._lock = threading.Lock()
        self._connection = sqlite3.connect(path, timeout=30, isolation_level=None, check_same_thread=False)
        self._connection.execute("PRAGMA journal_mode = WAL")
        # Survives the death of the process, if not of the machine.
        self._connection.execute("PRAGMA synchronous = NORMAL")
        self._connection.executescript(_TABLES)
        self._token = self._find_token()

    def write(self, device: str, to: str, payload: Any, *, at: datetime) -> Sent:
        """Note a new message before it is sent."""
        with self._lock:
            [(last,)] = self._rows("SELECT coalesce(max(number), 0) FROM sent")
            id = f"{self._token}-{last + 1:010}"
            body = encode({"version": 1, "id": id, "to": to, "created_at": format_time(at), "payload": payload})
            self._rows("INSERT INTO sent (number, id, device, body) VALUES (?, ?, ?, ?)", last + 1, id, device, body)
        return Sent(id, body)

    def mark_accepted(self, id: str) -> None:
        self._run("UPDATE sent SET accepted_at = coalesce(accepted_at, ?) WHERE id = ?", _now(), id)

    def mark_refused(self, id: str, reason: str) -> None:
        self._run("UPDATE sent SET refused = ? WHERE id = ?", reason, id)

    def unanswered(self, device: str) -> list[Sent]:
        sql = "SELECT id, body FROM sent WHERE device = ? AND accepted_at IS NULL AND refused IS NULL ORDER BY number"
        return [Sent(*row) for row in self._run(sql, device)]

    def record_fetched(self, device: str, messages: Iterable[Message]) -> None:
        """Count each message that was handed out; to see one again before its confirmation is normal."""
        sql = (
            "INSERT INTO fetched (device, id, reply_to, times) VALUES (?, ?, ?, 1) ON CONFLICT (device, id) DO UPDATE"
            " SET times = times + 1, came_back = came_back + (confirmed_at IS NOT NULL)"
        )
        with self._lock, self._connection:
            self._connection.execute("BEGIN IMMEDIATE")
            self._connection.executemany(sql, [(device, m["id"], m.get("reply_to")) for m in messages])

    def unconfirmed(self, device: str) -> list[str]:
        rows = self._run("SELECT id FROM fetched WHERE device = ? AND confirmed_at IS NULL ORDER BY rowid", device)
        return [row[0] for row in rows]

    def mark_confirmed(self, device: str, id: str) -> None:
        sql = "UPDATE fetched SET confirmed_at = ? WHERE device = ? AND id = ? AND confirmed_at IS NULL"
        self._run(sql, _now(), device, id)

    def record_receipt(self, id: str, status: str) -> None:
        self._run("UPDATE sent SET receipt = ? WHERE id = ?", status, id)

    def find_sent(self, device: str, share: float) -> str | None:
        """Return an accepted message of the device, from the first (0) to the last (1)."""
        sql = "SELECT id FROM sent WHERE device = ? AND accepted_at IS NOT NULL ORDER BY number LIMIT 1 OFFSET ?"
        [(count,)] = self._run("SELECT count(*) FROM sent WHERE device = ? AND accepted_at IS NOT NULL", device)
        rows = self._run(sql, device, min(int(share * count), max(0, count - 1)))
        return rows[0][0] if rows else None

    def accepted(self) -> dict[str, Any]:
        """Return the payload of every message the server took, by id."""
        rows = self._run("SELECT id, body FROM sent WHERE accepted_at IS NOT NULL")
        return {id: json.loads(body)["payload"] for id, body in rows}

    def confirmed(self) -> dict[str, str | None]:
        """Return every message that was confirmed, with the message it replies to."""
        return dict(self._run("SELECT id, reply_to FROM fetched WHERE confirmed_at IS NOT NULL"))

    def receipts(self) -> dict[str, str]:
        return dict(self._run("SELECT id, receipt FROM sent WHERE receipt IS NOT NULL"))

    def count_written(self) -> int:
        [(count,)] = self._run("SELECT coalesce(max(number), 0) FROM sent")
        return int(count)

    def totals(self) -> Totals:
        [sent] = self._run("SELECT count(*), count(accepted_at), count(refused) FROM sent")
        [fetched] = self._run("SELECT count(*), count(confirmed_at), coalesce(sum(came_back), 0) FROM fetched")
        return Totals(*sent, *fetched)

    def close(self) -> None:
        with self._lock:
            self._connection.close()

    def _find_token(self) -> str:
        """Return the beginning of all ids of this journal, made once: two journals never send the same id."""
        with self._lock, self._connection:
            self._connection.execute("BEGIN IMMEDIATE")
            sql = "INSERT INTO run (token) SELECT ? WHERE NOT EXISTS (SELECT 1 FROM run)"
            self._rows(sql, secrets.token_hex(8))
            [(token,)] = self._rows("SELECT token FROM run")
        return str(token)

    def _run(self, sql: str, *values: Any) -> list[Any]:
        with self._lock:
            return self._rows(sql, *values)

    def _rows(self, sql: str, *values: Any) -> list[Any]:
        return self._connection.execute(sql, values).fetchall()


def _now() -> str:
    return format_time(datetime.now(UTC))
