"""All four servers for one run of the tests: `python3 -m tests.servers.bench -- COMMAND`.

Without a command they stay up until Ctrl-C, for a developer's shell.
"""

import argparse
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack
from dataclasses import dataclass
from typing import ClassVar, NoReturn, Self

from tests.servers.clickhouse import ClickHouseServer
from tests.servers.postgres import PostgresServer
from tests.servers.private_server import PrivateServer, ServerFailed
from tests.servers.rabbitmq import VIRTUAL_HOSTS_VARIABLE, RabbitMQServer
from tests.servers.reaped import TemporaryFolder, children_of
from tests.servers.reaper import adopt_orphans, die_with_the_parent
from tests.servers.redis import RedisServer

VARIABLES = {
    PostgresServer.name: "TEST_DATABASE_URL",
    RabbitMQServer.name: "TEST_AMQP_URL",
    RedisServer.name: "TEST_REDIS_URL",
    ClickHouseServer.name: "TEST_CLICKHOUSE_URL",
}
# One for each worker of pytest: the product's queues have fixed names, so tests beside each other need different hosts.
VIRTUAL_HOSTS = tuple(f"worker{number}" for number in range(8))
LAST_SECONDS_OF_THE_COMMAND = 30.0
LAST_SECONDS_OF_ITS_PROCESSES = 5.0
ENDING = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)


@dataclass(frozen=True)
class GivenServer:
    """A server that was there before; it is not ours to stop and start."""

    name: str
    url: str
    is_private: ClassVar[bool] = False


class Servers:
    """PostgreSQL, RabbitMQ, Redis and ClickHouse: private, or those that the `TEST_…_URL` variables name."""

    def __init__(self, environment: Mapping[str, str] = os.environ, *, fsync: bool = True) -> None:
        given = _find_given(environment)
        self._folder = TemporaryFolder("postern-servers-")
        folder = self._folder.path
        self.postgres = given.get("postgres") or PostgresServer(folder / "postgres", fsync=fsync, autovacuum=fsync)
        self.rabbitmq = given.get("rabbitmq") or RabbitMQServer(folder / "rabbitmq", virtual_hosts=VIRTUAL_HOSTS)
        self.redis = given.get("redis") or RedisServer(folder / "redis")
        self.clickhouse = given.get("clickhouse") or ClickHouseServer(folder / "clickhouse")

    @property
    def environment(self) -> dict[str, str]:
        """Return the variables by which the tests find the servers."""
        servers = (self.postgres, self.rabbitmq, self.redis, self.clickhouse)
        hosts = {VIRTUAL_HOSTS_VARIABLE: ",".join(VIRTUAL_HOSTS)} if self.rabbitmq.is_private else {}
        return {VARIABLES[server.name]: server.url for server in servers} | hosts

    def make_shared_folder(self) -> dict[str, str]:
        """Make the folder for what several runs beside each other need once: databases to copy, static files."""
        folder = self._folder.path / "shared"
        folder.mkdir(exist_ok=True)
        return {"TEST_SHARED_FOLDER": str(folder)}

    def start(self) -> None:
        """Start the private servers side by side and say how long each took."""
        with ThreadPoolExecutor() as threads:
            starts = [threads.submit(_start_and_tell, server) for server in self._private]
            try:
                for start in as_completed(starts):
                    start.result()
            except BaseException:
                # The pool waits for its threads, and they return only once their servers are gone.
                self.close()
                raise

    def close(self) -> None:
        """Take the private servers down at once and remove their folder."""
        with ExitStack() as last:
            last.callback(self._folder.remove)
            for server in self._private:
                last.callback(server.close)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def _private(self) -> list[PrivateServer]:
        servers = (self.postgres, self.rabbitmq, self.redis, self.clickhouse)
        return [server for server in servers if isinstance(server, PrivateServer)]


def main(arguments: Sequence[str]) -> int:
    """Run the command among the servers, or wait for Ctrl-C; return the exit code."""
    options, command = _parse(arguments)
    os.umask(0o022)  # under root, PostgreSQL runs as somebody else, who must be able to reach its folder
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _leave)
    try:
        with Servers(fsync=options.fsync) as servers:
            if command:
                return run(command, servers.make_shared_folder() | servers.environment)
            _print_exports(servers.environment)
            signal.pause()
    except (ServerFailed, FileNotFoundError) as failure:
        print(failure, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    return 0


def run(command: Sequence[str], environment: Mapping[str, str]) -> int:
    """Run the command to its end, or to the end of this process; return the exit code.

    Whatever the command has started and not ended is ended with it: a worker that was cut off leaves products behind.
    """
    adopt_orphans()
    ours = set(children_of(os.getpid()))
    # Until there is a child to see off, a signal is kept: raised while it starts, it would leave it to its fate.
    # A mask would not do: a thread that is about to end takes the signal instead.
    kept: list[int] = []
    heard = [number for number in ENDING if signal.getsignal(number) != signal.SIG_IGN]
    usual = {number: signal.signal(number, lambda came, _frame: kept.append(came)) for number in heard}
    child = subprocess.Popen(command, env={**os.environ, **environment}, preexec_fn=die_with_the_parent)
    try:
        for number, handler in usual.items():
            signal.signal(number, handler)
        for came in kept:
            signal.raise_signal(came)
        code = child.wait()
    except KeyboardInterrupt:
        # A terminal has sent Ctrl-C to the command as well, and twice would cut its clean-up short.
        code = _see_off(child, None if sys.stdin.isatty() else signal.SIGINT)
    except SystemExit:
        code = _see_off(child, signal.SIGTERM)
    finally:
        _end_processes(ours)
    return code if code >= 0 else 128 - code


def _find_given(environment: Mapping[str, str]) -> dict[str, GivenServer]:
    urls = {name: environment.get(variable) for name, variable in VARIABLES.items()}
    return {name: GivenServer(name=name, url=url) for name, url in urls.items() if url}


def _start_and_tell(server: PrivateServer) -> None:
    begun = time.monotonic()
    server.start()
    print(f"{server.name:<10} up in {time.monotonic() - begun:.1f} s", file=sys.stderr, flush=True)


def _parse(arguments: Sequence[str]) -> tuple[argparse.Namespace, Sequence[str]]:
    own, command = list(arguments), []
    if "--" in own:
        split = own.index("--")
        own, command = own[:split], own[split + 1 :]
    parser = argparse.ArgumentParser(
        prog="python3 -m tests.servers.bench",
        usage="%(prog)s [--no-fsync] [-- COMMAND ARGUMENTS…]",
        description="Start private servers, run the command with their addresses in TEST_…_URL, end them.",
    )
    parser.add_argument(
        "--no-fsync", dest="fsync", action="store_false", help="run PostgreSQL without fsync and autovacuum"
    )
    return parser.parse_args(own), command


def _leave(number: int, _frame: object) -> NoReturn:
    sys.exit(128 + number)


def _print_exports(environment: Mapping[str, str]) -> None:
    for name, value in environment.items():
        print(f"export {name}={shlex.quote(value)}", flush=True)


def _see_off(child: subprocess.Popen[bytes], number: signal.Signals | None) -> int:
    if number is not None:
        child.send_signal(number)
    try:
        return child.wait(LAST_SECONDS_OF_THE_COMMAND)
    except subprocess.TimeoutExpired:
        return -signal.SIGKILL
    finally:
        # Also when a second signal ends the patience.
        child.kill()


def _end_processes(kept: set[int]) -> None:
    """End what the command has left behind, gently at first; whatever those leave behind has its turn next."""
    deadline = time.monotonic() + LAST_SECONDS_OF_ITS_PROCESSES
    asked: set[int] = set()
    while left := set(children_of(os.getpid())) - kept:
        is_late = time.monotonic() > deadline
        for pid in left if is_late else left - asked:
            os.kill(pid, signal.SIGKILL if is_late else signal.SIGTERM)
        asked |= left
        time.sleep(0.05)
        for pid in left:
            os.waitpid(pid, os.WNOHANG)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
