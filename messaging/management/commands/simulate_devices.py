import signal
import sqlite3
import sys
from argparse import ArgumentParser
from contextlib import closing
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from messaging.simulation.calls import Calls, Refused
from messaging.simulation.devices import Crowd, Device, Plan
from messaging.simulation.journal import Journal


class Command(BaseCommand):
    help = "Send messages as many devices do, fetch and confirm what is addressed to them, and keep a journal of it."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--url", required=True, help="the server, for example http://127.0.0.1:8000")
        parser.add_argument("--device", action="append", default=[], metavar="ID:KEY", help="a device (repeat)")
        parser.add_argument("--keys", type=Path, help='a file with a line "id key" for each device')
        parser.add_argument("--to", action="append", required=True, metavar="DATABASE", help="a recipient (repeat)")
        parser.add_argument("--journal", type=Path, required=True, help="a file of SQLite; continued if it is there")
        parser.add_argument("--rate", type=float, default=10, help="messages a second (default 10; 0 = at full speed)")
        parser.add_argument("--messages", type=int, help="how many the journal is to hold in the end")
        parser.add_argument("--seconds", type=float, help="how long to send (default: until stopped)")
        parser.add_argument("--linger", type=float, default=0, help="seconds of fetching afterwards (default 0)")
        parser.add_argument("--bytes", type=int, default=0, help="about how large a payload is")
        parser.add_argument("--threads", type=int, default=4, help="devices that call at the same time (default 4)")
        parser.add_argument("--seed", type=int, default=1, help="of the payloads and of the devices' turns")

    def handle(self, *args: Any, **options: Any) -> None:
        calls = _connect(options["url"], _read_keys(options["device"], options["keys"]))
        with closing(_open(options["journal"])) as journal:
            devices = [Device(id, device_calls, journal) for id, device_calls in calls.items()]
            try:
                with closing(Crowd(devices, journal, _plan(options))) as crowd:
                    self._run(crowd)
            except Refused as error:
                raise CommandError(f"The server refused: {error}") from error
            self.stdout.write(_describe(journal))

    def _run(self, crowd: Crowd) -> None:
        numbers = (signal.SIGINT, signal.SIGTERM)
        before = [signal.signal(number, lambda *_: crowd.stop.set()) for number in numbers]
        try:
            crowd.run(lambda: self._show(crowd.journal))
        finally:
            for number, handler in zip(numbers, before, strict=True):
                signal.signal(number, handler)

    def _show(self, journal: Journal) -> None:
        if sys.stderr.isatty():
            self.stderr.write(f"\r{_describe(journal)}", ending="")


def _read_keys(pairs: list[str], file: Path | None) -> dict[str, str]:
    """Read the devices and their keys from the options and the file."""
    try:
        lines = file.read_text().splitlines() if file else []
    except OSError as error:
        raise CommandError(f"--keys {file}: {error}") from error
    named = [tuple(pair.split(":", 1)) for pair in pairs] + [tuple(line.split()) for line in lines if line.strip()]
    if not named or any(len(pair) != 2 for pair in named):
        raise CommandError('Name the devices by --device ID:KEY, or by --keys with lines "id key".')
    return dict(pair for pair in named if len(pair) == 2)


def _connect(url: str, keys: dict[str, str]) -> dict[str, Calls]:
    try:
        return {id: Calls(url, key) for id, key in keys.items()}
    except ValueError as error:
        raise CommandError(f"--url: {error}") from error


def _open(path: Path) -> Journal:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return Journal(path)
    except (OSError, sqlite3.Error) as error:
        raise CommandError(f"--journal {path}: {error}") from error


def _plan(options: dict[str, Any]) -> Plan:
    return Plan(
        to=options["to"],
        rate=options["rate"],
        messages=options["messages"],
        seconds=options["seconds"],
        payload_bytes=options["bytes"],
        linger=options["linger"],
        seed=options["seed"],
        threads=options["threads"],
    )


def _describe(journal: Journal) -> str:
    totals = journal.totals()
    parts = [f"{totals.accepted} of {totals.written} accepted", f"{totals.confirmed} of {totals.fetched} confirmed"]
    parts += [f"{totals.refused} refused"] if totals.refused else []
    parts += [f"{totals.came_back} came back"] if totals.came_back else []
    return ", ".join(parts)
