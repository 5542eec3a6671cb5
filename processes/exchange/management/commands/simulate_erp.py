import signal
import sys
from argparse import ArgumentParser
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from processes.exchange.reference.client import Refused, Server
from processes.exchange.reference.erp import Ending, Options, Outcome
from processes.exchange.reference.faults import Faults, Rates
from processes.exchange.reference.ledger import open_store
from processes.exchange.reference.loop import Erp
from processes.exchange.reference.store import STORE_ERRORS, Store

QUIET = (Ending.IDLE, Ending.BUSY)


class Command(BaseCommand):
    help = "Exchange messages with a server as an ERP does, with a transactional database of its own."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--url", required=True, help="the server, for example http://127.0.0.1:8000")
        parser.add_argument("--key", required=True, help="the key of the database")
        parser.add_argument("--store", required=True, help="the ERP's own database: a file of SQLite or postgresql://…")
        parser.add_argument("--subsystem", action="append", default=[], help="only these (repeat)")
        parser.add_argument("--sender", action="append", default=[], help="only messages of these devices (repeat)")
        parser.add_argument("--max-files", type=int)
        parser.add_argument("--max-mb", type=int)
        parser.add_argument("--worker", help="the name of this ERP among others on one store (default: its subsystems)")
        parser.add_argument("--take-over", action="store_true", help="interrupt whatever process holds the lane")
        parser.add_argument("--reply-bytes", type=int, default=0, help="fill each reply with so many bytes")
        often = parser.add_mutually_exclusive_group()
        often.add_argument("--once", action="store_true", help="one exchange (default: until nothing is left)")
        often.add_argument("--forever", action="store_true", help="until stopped")
        parser.add_argument("--every", type=float, default=5.0, help="seconds between the exchanges (default 5)")
        for name in ("deadlock", "incorrect", "leave-out", "commit-failure", "crash"):
            parser.add_argument(f"--{name}-rate", type=float, default=0.0, help="a chance from 0 to 1")
        parser.add_argument("--seed", type=int, default=1, help="of the chances")

    def handle(self, *args: Any, **options: Any) -> None:
        self._endings: Counter[Ending] = Counter()
        self._results: Counter[str] = Counter()
        try:
            with closing(_build(options)) as erp:
                self._exchange(erp, options)
        except Refused as error:
            raise CommandError(f"The server refused: {error}") from error
        self.stdout.write(self._totals())

    def _exchange(self, erp: Erp, options: dict[str, Any]) -> None:
        def is_last(outcome: Outcome) -> bool:
            return bool(options["once"]) or (not options["forever"] and outcome.ending == Ending.IDLE)

        numbers = (signal.SIGINT, signal.SIGTERM)
        before = [signal.signal(number, lambda *_: erp.stop.set()) for number in numbers]
        try:
            erp.run_until(is_last, every=options["every"], report=self._report)
        finally:
            for number, handler in zip(numbers, before, strict=True):
                signal.signal(number, handler)

    def _report(self, outcome: Outcome) -> None:
        self._endings[outcome.ending] += 1
        self._results.update(result["status"] for result in outcome.results)
        if outcome.ending not in (*QUIET, Ending.DONE):
            self.stderr.write(f"{outcome.ending} {outcome.process_id} {outcome.text}".rstrip())
        if sys.stderr.isatty():
            self.stderr.write(f"\r{self._totals()}", ending="")

    def _totals(self) -> str:
        counted = [*self._endings.items(), *self._results.items()]
        return ", ".join(f"{name} {number}" for name, number in counted) or "no exchange"


def _open(address: str) -> Store:
    try:
        if "://" not in address:
            Path(address).parent.mkdir(parents=True, exist_ok=True)
        return open_store(address)
    except (OSError, *STORE_ERRORS) as error:
        raise CommandError(f"--store {address}: {error}") from error


def _build(options: dict[str, Any]) -> Erp:
    try:
        server = Server(options["url"], options["key"])
    except ValueError as error:
        raise CommandError(f"--url: {error}") from error
    names = ("deadlock", "incorrect", "leave_out", "commit_failure", "crash")
    rates = Rates(**{name: options[f"{name}_rate"] for name in names})
    asked = Options(
        subsystems=options["subsystem"],
        senders=options["sender"],
        max_files=options["max_files"],
        max_mb=options["max_mb"],
        worker=options["worker"] or ",".join(sorted(options["subsystem"])) or "all",
        take_over=options["take_over"],
        reply_bytes=options["reply_bytes"],
    )
    return Erp(server, _open(options["store"]), asked, Faults(rates, seed=options["seed"]))
