"""A private PostgreSQL server."""

import os
import pwd
import re
import signal
import socket
import struct
import subprocess
from pathlib import Path

from tests.servers.packages import get_program
from tests.servers.private_server import HOST, STOP_SECONDS, PrivateServer, ServerFailed
from tests.servers.reaped import Account

SUPERUSER = "postgres"
PROTOCOL_3 = 196608
READY_FOR_QUERY = b"Z\x00\x00\x00\x05I"
SETTINGS = {
    "listen_addresses": HOST,
    "unix_socket_directories": "",
    "max_connections": "200",
    "shared_buffers": "128MB",
    "max_wal_size": "2GB",
    "checkpoint_timeout": "15min",
    "jit": "off",
    "timezone": "UTC",
    "log_timezone": "UTC",
    # Files of the data folder, so that a killed server leaves nothing in /dev/shm.
    "dynamic_shared_memory_type": "mmap",
}
# Data lost by a crash of the machine is of no value to the tests; a crash of the server alone loses nothing.
WITHOUT_FSYNC = {"fsync": "off", "full_page_writes": "off"}
# Tests empty hundreds of tables after each other, which would keep it busy all the time; and a session that has planned
# its checks of foreign keys for a table of one page reads the whole table for each row of a large import.
WITHOUT_AUTOVACUUM = {"autovacuum": "off"}


class PostgresServer(PrivateServer):
    """PostgreSQL that trusts every connection from this machine and listens to no other."""

    name = "postgres"
    # "Fast" and "immediate" shutdown; the latter also frees the shared memory, which SIGKILL would not.
    stop_signal = signal.SIGINT
    last_signal = signal.SIGQUIT

    def __init__(self, folder: Path | None = None, *, fsync: bool = True, autovacuum: bool = True) -> None:
        super().__init__(folder)
        self._settings = SETTINGS | ({} if fsync else WITHOUT_FSYNC) | ({} if autovacuum else WITHOUT_AUTOVACUUM)

    @property
    def url(self) -> str:
        """Give the address that clients connect to."""
        return f"postgresql://{SUPERUSER}@{HOST}:{self.port}/postgres"

    @property
    def _data(self) -> Path:
        return self.folder / "data"

    def _prepare(self) -> None:
        account = self._account()
        if account is not None:
            _require_passage(self._data.parent, account)
            self._data.mkdir()
            os.chown(self._data, account.user, account.group)
        initdb = self._launch(self._initdb())
        if initdb.wait(STOP_SECONDS):
            raise ServerFailed(f"initdb failed:\n{self._last_words()}")

    def _initdb(self) -> list[str]:
        access = ["-U", SUPERUSER, "--auth-host=trust", "--auth-local=reject"]
        text = ["--encoding=UTF8", "--locale=C.UTF-8"]
        return [_program("initdb"), "-D", str(self._data), "--no-sync", *access, *text]

    def _command(self) -> list[str]:
        settings = [part for name, value in self._settings.items() for part in ("-c", f"{name}={value}")]
        return [_program("postgres"), "-D", str(self._data), "-p", str(self.port), *settings]

    def _greets(self, connection: socket.socket) -> bool:
        body = struct.pack("!i", PROTOCOL_3) + f"user\0{SUPERUSER}\0database\0postgres\0\0".encode()
        connection.sendall(struct.pack("!i", len(body) + 4) + body)
        answer = b""
        while not answer.endswith(READY_FOR_QUERY) and (part := connection.recv(4096)):
            answer += part
        return answer.endswith(READY_FOR_QUERY)

    def _account(self) -> Account | None:
        """Choose an unprivileged user, because PostgreSQL refuses to run as root."""
        if os.geteuid() != 0:
            return None
        known = {entry.pw_name: entry for entry in pwd.getpwall()}
        entry = known.get("postgres") or known["nobody"]
        return Account(name=entry.pw_name, user=entry.pw_uid, group=entry.pw_gid)

    def _clean_up(self) -> None:
        # After SIGKILL the lock file remains, and with it the shared memory segment it names.
        lock = self._data / "postmaster.pid"
        segment = re.search(r"^ *\d+ +(\d+)\n", lock.read_text(), re.MULTILINE) if lock.exists() else None
        if segment is not None:
            # Unchecked, because a start that failed half-way may have freed it already.
            subprocess.run(["ipcrm", "-m", segment[1]], check=False)


def _require_passage(folder: Path, account: Account) -> None:
    for parent in (folder, *folder.parents):
        status = parent.stat()
        if not status.st_mode & 0o001 and status.st_uid != account.user:
            problem = f"{parent} is closed to the user {account.name}"
            raise ServerFailed(f"{problem}: give PostgreSQL another folder, or none.")


def _program(name: str) -> str:
    return get_program(f"/usr/lib/postgresql/*/bin/{name}", name)
