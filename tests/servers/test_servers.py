import os
import re
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import clickhouse_driver
import pika
import psycopg
import pytest
import redis

from tests.servers import packages
from tests.servers.bench import VARIABLES, Servers
from tests.servers.clickhouse import ClickHouseServer
from tests.servers.postgres import PostgresServer
from tests.servers.private_server import ServerFailed
from tests.servers.rabbitmq import RabbitMQServer
from tests.servers.redis import RedisServer

ROOT = Path(__file__).parents[2]
BENCH = [sys.executable, "-m", "tests.servers.bench"]
ELSEWHERE = {variable: f"{name}://elsewhere" for name, variable in VARIABLES.items()}


def needs(*names: str) -> pytest.MarkDecorator:
    """Skip where a server is given by its address and not installed."""
    missing = [p.name for p in packages.PACKAGES if p.name in names and not p.is_present()]
    return pytest.mark.skipif(bool(missing), reason=f"not installed: {' '.join(missing)}")


@pytest.fixture
def folder() -> Iterator[Path]:
    """Give a folder that PostgreSQL's user may enter, unlike pytest's own."""
    with tempfile.TemporaryDirectory(prefix="postern-test-") as path:
        os.chmod(path, 0o711)
        yield Path(path)


class TestPackages:
    def test_without_apt_the_exact_line_is_printed(self, tmp_path: Path) -> None:
        done = self.run(PATH=str(tmp_path), NO_APT="1")

        assert done.returncode == 1
        assert {"redis-server", "chromium", "gettext"} <= self.asked_for(done)
        assert "TEST_REDIS_URL" in done.stderr

    def test_a_server_that_is_given_is_not_needed(self, tmp_path: Path) -> None:
        done = self.run(PATH=str(tmp_path), NO_APT="1", TEST_REDIS_URL="redis://elsewhere")

        assert self.asked_for(done) >= {"chromium", "gettext"}
        assert "redis-server" not in self.asked_for(done)

    @needs(*(package.name for package in packages.PACKAGES))
    def test_nothing_is_said_when_all_is_there(self) -> None:
        done = self.run(PATH=os.environ["PATH"], NO_APT="1")

        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")

    def test_a_higher_version_is_preferred(self, tmp_path: Path) -> None:
        for version in ("9", "15"):
            (tmp_path / version / "bin").mkdir(parents=True)

        assert packages.locate(f"{tmp_path}/*/bin") == f"{tmp_path}/15/bin"

    @staticmethod
    def run(**environment: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, packages.__file__]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)

    @staticmethod
    def asked_for(done: subprocess.CompletedProcess[str]) -> set[str]:
        names = re.search(r"^  apt-get install -y --no-install-recommends (.+)$", done.stderr, re.MULTILINE)
        return set(names[1].split()) if names else set()


class TestServicesDenied:
    def test_starts_are_denied_for_the_time_of_the_installation(self, tmp_path: Path) -> None:
        policy = tmp_path / "policy-rc.d"

        with packages.services_denied(["redis-server"], policy):
            assert subprocess.run([policy, "redis-server", "start"], check=False).returncode == 101

        assert list(tmp_path.iterdir()) == []

    def test_a_policy_that_denies_stays(self, tmp_path: Path) -> None:
        policy = write_script(tmp_path / "policy-rc.d", "exit 101")

        with packages.services_denied(["redis-server"], policy):
            assert list(tmp_path.iterdir()) == [policy]

        assert policy.read_text().endswith("exit 101\n")

    def test_a_policy_that_allows_is_put_back_whatever_happens(self, tmp_path: Path) -> None:
        policy = write_script(tmp_path / "policy-rc.d", "exit 0")

        with pytest.raises(SystemExit), packages.services_denied(["redis-server"], policy):
            sys.exit()

        assert policy.read_text().endswith("exit 0\n")
        assert policy.stat().st_mode & stat.S_IXUSR

    def test_a_policy_set_aside_by_a_killed_run_is_put_back(self, tmp_path: Path) -> None:
        policy = write_script(tmp_path / "policy-rc.d", "exit 0")
        killed = packages.services_denied(["redis-server"], policy)
        killed.__enter__()
        # What a SIGKILL leaves, without the lock that would go with the process.
        left = {path.name: path.read_text() for path in tmp_path.iterdir()}
        killed.__exit__(None, None, None)
        for name, text in left.items():
            (tmp_path / name).write_text(text)

        with packages.services_denied(["redis-server"], policy):
            pass

        assert policy.read_text().endswith("exit 0\n")
        assert list(tmp_path.iterdir()) == [policy]


@needs("postgresql")
class TestPostgres:
    def test_data_and_port_survive_a_stop_and_a_kill(self) -> None:
        with PostgresServer() as server:
            url = server.url
            with psycopg.connect(url) as connection:
                connection.execute("CREATE TABLE kept AS SELECT 'да' AS answer")
            server.stop()
            server.start()
            server.kill()
            server.start()

            with psycopg.connect(url) as connection:
                assert connection.execute("SELECT upper(answer) FROM kept").fetchone() == ("ДА",)
                assert connection.execute("SHOW fsync").fetchone() == ("on",)

    def test_a_killed_server_leaves_no_shared_memory(self) -> None:
        with PostgresServer(fsync=False) as server:
            _key, segment = (server.folder / "data/postmaster.pid").read_text().splitlines()[6].split()
            assert segment in shared_memory()
            server.kill()

        assert segment not in shared_memory()

    @pytest.mark.skipif(os.geteuid() != 0, reason="only root runs it as another user")
    def test_a_folder_closed_to_its_user_is_refused(self, folder: Path) -> None:
        folder.chmod(0o700)

        with pytest.raises(ServerFailed, match=f"{folder} is closed to the user"):
            PostgresServer(folder / "postgres").start()


@needs("clickhouse-server")
class TestClickHouse:
    def test_data_and_port_survive_a_restart(self) -> None:
        with ClickHouseServer() as server:
            url = server.url
            with clickhouse_driver.Client.from_url(url) as client:
                client.execute("CREATE TABLE kept (n UInt8) ENGINE = MergeTree ORDER BY n")
                client.execute("INSERT INTO kept VALUES", [[7]])
            server.stop()
            server.start()

            with clickhouse_driver.Client.from_url(url) as client:
                assert client.execute("SELECT n FROM kept") == [(7,)]


@needs("rabbitmq-server")
class TestRabbitMQ:
    def test_data_and_port_survive_a_restart_and_nothing_the_end(self, folder: Path) -> None:
        with RabbitMQServer(folder) as server:
            parameters = pika.URLParameters(server.url)
            with pika.BlockingConnection(parameters) as connection:
                channel = connection.channel()
                channel.confirm_delivery()
                channel.queue_declare("kept", durable=True)
                channel.basic_publish("", "kept", b"kept", pika.BasicProperties(delivery_mode=2))
            server.stop()
            assert processes_in(folder) == []
            server.start()

            with pika.BlockingConnection(parameters) as connection:
                assert connection.channel().basic_get("kept")[2] == b"kept"
            assert "epmd" in processes_in(folder)

        assert processes_in(folder) == []


@needs("redis-server")
class TestRedis:
    def test_it_comes_back_on_its_port_after_a_kill(self) -> None:
        with RedisServer() as server:
            url = server.url
            server.kill()
            assert not server.is_running
            server.start()

            with redis.Redis.from_url(url) as client:
                assert client.ping() is True

    def test_its_last_words_tell_why_it_did_not_start(self) -> None:
        server = RedisServer()
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", server.port))

            with pytest.raises(ServerFailed, match="Address already in use"), server:
                pass

        assert not server.folder.exists()

    def test_only_what_runs_can_be_stopped(self) -> None:
        with RedisServer() as server:
            server.stop()

            with pytest.raises(ServerFailed, match="not running"):
                server.stop()


class TestServers:
    def test_given_servers_are_used_as_they_are(self) -> None:
        with Servers(ELSEWHERE) as servers:
            assert servers.environment == ELSEWHERE
            assert not servers.postgres.is_private

    @needs("rabbitmq-server")
    def test_a_failed_start_takes_all_down(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(tempfile, "tempdir", str(folder))
        servers = Servers(ELSEWHERE | {"TEST_AMQP_URL": "", "TEST_REDIS_URL": ""})
        monkeypatch.setattr(RedisServer, "_command", lambda _: ["false"])

        with pytest.raises(ServerFailed, match="redis ended while it started"):
            servers.start()

        assert remains_of(folder) == []


class TestMain:
    def test_the_exit_code_of_the_command_is_passed_on(self) -> None:
        command = [*BENCH, "--", "sh", "-c", 'test "$TEST_AMQP_URL" = rabbitmq://elsewhere && exit 7']

        assert subprocess.run(command, cwd=ROOT, env={**os.environ, **ELSEWHERE}, check=False).returncode == 7

    @needs("redis-server")
    @pytest.mark.parametrize(
        ("number", "command_ends_by"),
        [
            (signal.SIGTERM, signal.SIGTERM),
            (signal.SIGHUP, signal.SIGTERM),
            (signal.SIGINT, signal.SIGINT),
        ],
    )
    def test_a_signal_ends_command_and_servers(
        self, folder: Path, number: signal.Signals, command_ends_by: signal.Signals
    ) -> None:
        bench = start_bench(folder, ELSEWHERE | {"TEST_REDIS_URL": ""})

        bench.send_signal(number)

        assert bench.wait(60) == 128 + command_ends_by
        assert remains_of(folder) == []

    @pytest.mark.parametrize("deaf", ["", "trap '' TERM; "])
    def test_nothing_that_the_command_has_started_outlives_it(self, folder: Path, deaf: str) -> None:
        generations = f"{deaf}setsid sleep 601 & setsid sleep 602 & wait"
        bench = start_bench(folder, ELSEWHERE, command=f'setsid sh -c "{generations}" & echo up; exec sleep 600')

        bench.send_signal(signal.SIGTERM)
        bench.wait(60)

        assert remains_of(folder) == []

    def test_a_signal_at_the_very_start_ends_the_command_as_later(self) -> None:
        at_once = [*BENCH, "--", "sh", "-c", "kill -HUP $PPID; exec sleep 600"]

        # The moment between the command's start and its being known is short: one try alone may miss it.
        codes = {
            subprocess.run(at_once, cwd=ROOT, env={**os.environ, **ELSEWHERE}, check=False).returncode for _ in range(5)
        }

        assert codes == {128 + signal.SIGTERM}

    @needs("postgresql", "rabbitmq-server", "redis-server", "clickhouse-server")
    def test_nothing_outlives_a_killed_bench(self, folder: Path) -> None:
        bench = start_bench(folder, {})
        running = processes_in(folder)

        bench.kill()
        bench.wait()

        assert {"postgres", "beam.smp", "epmd", "redis-server", "sleep"} <= set(running)
        assert remains_after_a_while(folder) == []


def write_script(path: Path, line: str) -> Path:
    path.write_text(f"#!/bin/sh\n{line}\n")
    path.chmod(0o755)
    return path


def shared_memory() -> set[str]:
    """Give the System V segments of the machine."""
    return {line.split()[1] for line in Path("/proc/sysvipc/shm").read_text().splitlines()[1:]}


def start_bench(
    folder: Path, given: dict[str, str], *, command: str = "echo up; exec sleep 600"
) -> subprocess.Popen[str]:
    """Start the bench around a command that waits; return once all servers are up."""
    others = {name: value for name, value in os.environ.items() if name not in VARIABLES.values()}
    bench = subprocess.Popen(
        [*BENCH, "--", "sh", "-c", command],
        cwd=ROOT,
        env={**others, **given, "TMPDIR": str(folder)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=listen_to_interrupts,
    )
    with bench.stdout or sys.stdin as output:
        assert output.readline() == "up\n"
    while "sleep" not in processes_in(folder):
        time.sleep(0.01)  # the shell has spoken and is about to become what waits
    return bench


def listen_to_interrupts() -> None:
    # A shell starts background jobs deaf to SIGINT, and children inherit that.
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def processes_in(folder: Path) -> list[str]:
    """Name the processes that have to do with the folder."""
    names = (find_name(process, folder) for process in Path("/proc").glob("[0-9]*"))
    return sorted(name for name in names if name)


def find_name(process: Path, folder: Path) -> str | None:
    try:
        traces = (process / "cmdline").read_bytes() + (process / "environ").read_bytes()
        traces += os.readlink(process / "cwd").encode()
        return (process / "comm").read_text().strip() if str(folder).encode() in traces else None
    except OSError:
        # Ended meanwhile, or of another user.
        return None


def remains_of(folder: Path) -> list[str]:
    """Name the processes and files that are left."""
    return processes_in(folder) + [str(path) for path in folder.iterdir()]


def remains_after_a_while(folder: Path) -> list[str]:
    """Wait for the reapers, which work on their own; name what they left."""
    deadline = time.monotonic() + 20
    while remains_of(folder) and time.monotonic() < deadline:
        time.sleep(0.1)
    return remains_of(folder)
