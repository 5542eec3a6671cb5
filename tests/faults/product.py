"""The product as an operator runs it: `manage.py` in processes of its own, with a folder of its own."""

import fcntl
import http.client
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import psycopg

from config.common.background.process_control import die_with_parent
from tests.faults.forkserver import ForkedProcess, ForkServer
from tests.faults.wait import wait_until
from tests.servers.packages import locate
from tests.servers.private_server import HOST, PrivateServer, find_free_port
from tests.settings import MIGRATED, SHARED

ROOT = Path(__file__).resolve().parents[2]
SQLITE_FILE, READER_FILE = "postern.sqlite3", "reader.sqlite3"
PASSWORD = "correct-horse-battery"
"""Of the first administrator of whatever is copied prepared."""


class Product:
    def __init__(self, folder: Path, **variables: str) -> None:
        self.port = find_free_port()
        self.folder = folder
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "LANG": "C.UTF-8",
            "DATA_DIR": str(folder / "data"),
            "PORT": str(self.port),
            **variables,
        }
        self.process: subprocess.Popen[bytes] | ForkedProcess | None = None
        self._fork_server: ForkServer | None = None

    def manage(self, *arguments: str, variables: Mapping[str, str] = {}) -> subprocess.CompletedProcess[str]:  # noqa: B006
        """Run a command to its end."""
        return subprocess.run(
            self._command(*arguments),
            env={**self.environment, **variables},
            capture_output=True,
            text=True,
            timeout=240,
        )

    def copy_template(self) -> None:
        """Begin with what every preparation makes alike, so that it takes a fraction of its time."""
        copy_template(Path(self.environment["DATA_DIR"]), with_database="DATABASE_URL" not in self.environment)

    def copy_prepared(self) -> None:
        """Begin on SQLite with all that a preparation leaves: with whom it shares its secrets is nobody's matter."""
        copy_prepared(Path(self.environment["DATA_DIR"]))

    def prepare(self) -> str:
        done = self.manage("prepare", "--skip-checks")
        assert done.returncode == 0, done.stderr
        return done.stdout

    def start(self, *arguments: str, seconds: float = 120) -> None:
        """Start `manage.py up` and wait until it serves."""
        self.process = self.spawn("up", *arguments, log=self.folder / "up.log")
        assert wait_until(lambda: self.get("/healthz")[0] == 200, seconds), self.read_log()

    def ensure_started(self) -> None:
        if self.process is None or self.process.poll() is not None:
            self.start()

    def run(self, *arguments: str) -> None:
        """Run a command to its end, as a fork."""
        log = self.folder / f"{arguments[0]}.log"
        assert self.fork(*arguments, log=log).wait() == 0, log.read_text()

    def fork(self, *arguments: str, log: Path) -> ForkedProcess:
        """Start a command as a fork of what is loaded with the present variables."""
        if self._fork_server is None or self._fork_server.environment != self.environment:
            self.close()
            self._fork_server = ForkServer(self.environment, self.folder)
        return self._fork_server.fork(arguments, log)

    def close(self) -> None:
        if self._fork_server is not None:
            self._fork_server.close()

    def spawn(self, *arguments: str, log: Path, shell: str = "") -> subprocess.Popen[bytes]:
        """Start a command as a program, inside a line of the shell if one is given."""
        tests = os.getpid()
        command = self._command(*arguments)
        with log.open("ab") as output:
            return subprocess.Popen(
                ["sh", "-c", shell.format(shlex.join(command))] if shell else command,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                preexec_fn=lambda: die_with_parent(tests),
            )

    def stop(self, seconds: float = 60) -> int:
        """End it gently; return its exit code."""
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(seconds)

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def get(self, path: str, **headers: str) -> tuple[int, str]:
        """Call the server; without one the status is 0."""
        status, _, body = self._call("GET", path, "", headers)
        return status, body

    def call(self, method: str, path: str, body: Any = None, *, key: str, seconds: float = 60) -> tuple[int, Any]:
        """Call the API with a key; return the status and the answer."""
        headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
        status, _, answer = self._call(method, path, "" if body is None else json.dumps(body), headers, seconds)
        return status, json.loads(answer or "null")

    def sign_in(self, name: str, password: str) -> int:
        """Fill in the sign-in form; return the status of the answer."""
        _, cookies, _ = self._call("GET", "/admin/login/", "", {})
        token = cookies.partition("csrftoken=")[2].partition(";")[0]
        form = urlencode({"username": name, "password": password, "csrfmiddlewaretoken": token})
        headers = {"Cookie": f"csrftoken={token}", "Content-Type": "application/x-www-form-urlencoded"}
        return self._call("POST", "/admin/login/", form, headers)[0]

    def _call(
        self, method: str, path: str, body: str, headers: Mapping[str, str], seconds: float = 10
    ) -> tuple[int, str, str]:
        caller = http.client.HTTPConnection(HOST, self.port, timeout=seconds)
        try:
            caller.request(method, path, body, dict(headers))
            answer = caller.getresponse()
            return answer.status, answer.getheader("Set-Cookie", ""), answer.read().decode()
        except (OSError, http.client.HTTPException):
            return 0, "", ""
        finally:
            caller.close()

    def engines(self) -> dict[str, object]:
        """Return what `/readyz` tells, and with which status."""
        status, body = self.get("/readyz")
        return {**json.loads(body or "{}"), "status": status}

    def read_log(self) -> str:
        log = self.folder / "up.log"
        return log.read_text() if log.exists() else ""

    def events(self, name: str) -> list[dict[str, Any]]:
        """Return the log lines of that event."""
        lines = [line for line in self.read_log().splitlines() if f'"event": "{name}"' in line]
        return [json.loads(line) for line in lines]

    def children(self) -> dict[str, int]:
        """Return the process that the supervisor has last started under each name."""
        return {event["name"]: event["pid"] for event in self.events("process.started")}

    def _command(self, *arguments: str) -> list[str]:
        return [sys.executable, str(ROOT / "manage.py"), *arguments]


def variables_of(engines: Mapping[str, PrivateServer], database: str) -> dict[str, str]:
    """Return the variables of the full profile."""
    return {
        "DATABASE_URL": database,
        "AMQP_URL": engines["amqp"].url,
        "REDIS_URL": engines["redis"].url,
        "CLICKHOUSE_URL": engines["clickhouse"].url,
    }


@contextmanager
def own_database(url: str) -> Iterator[str]:
    """Create an empty database on the server of the URL, and drop it."""
    with _database(url, template="template1") as database:
        yield database


def ensure_migrated(url: str) -> None:
    """Have a database to copy from that is migrated once for the whole run, whatever the number of servers."""
    with psycopg.connect(url, autocommit=True) as server:
        server.execute("SELECT pg_advisory_lock(1)")  # ends with the connection
        if server.execute("SELECT FROM pg_database WHERE datname = %s", [MIGRATED]).fetchone() is None:
            _migrate(server, url)


def copy_prepared(data: Path) -> None:
    """Give a new folder all that a preparation on SQLite leaves."""
    template = ensure_template()
    shutil.copytree(template / "prepared", data, dirs_exist_ok=True)
    shutil.copytree(template / "static", data / "static")
    shutil.copyfile(template / "static.stamp", data / "static.stamp")


def copy_template(data: Path, *, with_database: bool) -> None:
    """Give a new folder the static files and, as far as it is its own database, the tables on SQLite."""
    template = ensure_template()
    data.mkdir(mode=0o700, parents=True, exist_ok=True)
    shutil.copytree(template / "static", data / "static", dirs_exist_ok=True)
    shutil.copyfile(template / "static.stamp", data / "static.stamp")
    shutil.copyfile(template / READER_FILE, data / READER_FILE)
    if with_database:
        shutil.copyfile(template / SQLITE_FILE, data / SQLITE_FILE)


def ensure_template() -> Path:
    """Have static files and an empty SQLite database with all tables, made once for the whole run."""
    template = SHARED / "template"
    with (SHARED / "template.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # ends with the file
        if not template.exists():
            _make_template(template)
    return template


def _make_template(template: Path) -> None:
    """Make it under another name: the name says that it is whole."""
    product = Product(Path(tempfile.mkdtemp(dir=SHARED)), ADMIN_PASSWORD=PASSWORD)
    data, half = product.folder / "data", product.folder / "half"
    half.mkdir()
    done = product.manage("migrate", "-v0", "--skip-checks")
    assert done.returncode == 0, done.stderr
    shutil.copyfile(data / SQLITE_FILE, half / SQLITE_FILE)
    product.prepare()
    shutil.copyfile(data / READER_FILE, half / READER_FILE)
    for made in ("static", "static.stamp"):
        (data / made).rename(half / made)
    data.rename(half / "prepared")
    half.rename(template)


@contextmanager
def migrated_database(url: str) -> Iterator[str]:
    """The same with all tables."""
    ensure_migrated(url)
    with _database(url, template=MIGRATED) as database:
        yield database


def _migrate(server: psycopg.Connection[Any], url: str) -> None:
    """Create the database under another name: the name says that it is whole."""
    server.execute("DROP DATABASE IF EXISTS half_migrated")
    server.execute("CREATE DATABASE half_migrated")
    migrate(f"{url.rpartition('/')[0]}/half_migrated")
    server.execute(f"ALTER DATABASE half_migrated RENAME TO {MIGRATED}")


def migrate(database: str) -> None:
    """Give an empty database all tables: those that the first one of this run was migrated to."""
    dump = SHARED / "migrated.sql"
    with (SHARED / "migrated.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if dump.exists():
            done = _run_client("psql", "-q", "-v", "ON_ERROR_STOP=1", "-f", str(dump), database)
            assert done.returncode == 0, done.stderr
        else:
            with tempfile.TemporaryDirectory() as folder:
                done = Product(Path(folder), DATABASE_URL=database).manage("migrate", "-v0", "--skip-checks")
            assert done.returncode == 0, done.stderr
            # Servers beside this one take it from there: a tenth of the work. A client that is older than a server
            # that was given refuses; then each server is migrated.
            if _run_client("pg_dump", "-f", f"{dump}.part", database).returncode == 0:
                Path(f"{dump}.part").rename(dump)


def _run_client(name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    program = locate(f"/usr/lib/postgresql/*/bin/{name}") or name
    return subprocess.run(["env", program, *arguments], capture_output=True, text=True, timeout=240)


@contextmanager
def _database(url: str, *, template: str) -> Iterator[str]:
    name = f"up_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(url, autocommit=True) as server:
        server.execute(f"CREATE DATABASE {name} TEMPLATE {template}")
    try:
        yield f"{url.rpartition('/')[0]}/{name}"
    finally:
        with psycopg.connect(url, autocommit=True) as server:
            server.execute(f"DROP DATABASE {name} WITH (FORCE)")


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
