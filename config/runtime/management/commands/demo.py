import os
import signal
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand
from django.db import connections

from config.common.background.process_control import die_with_parent
from config.common.correlation import correlated
from config.common.files import make_folder, write_durably
from config.runtime.demo.fixtures import DATABASE, SENSORS, Fixtures, create_fixtures
from config.runtime.demo.receiver import find_port
from config.runtime.demo.receiver import receive as receive_hooks
from config.runtime.demo.scenes import play as play_scenes
from config.runtime.processes import Process
from config.runtime.spawn import program_starter
from config.runtime.supervisor import Supervisor

NETWORKS = "WEBHOOK_ALLOWED_NETWORKS"
QUICK = {"DELIVERY_BASE_SECONDS": "1", "DELIVERY_ATTEMPTS": "2", "EXCHANGE_READY_TIMEOUT": "15"}
"""Patience of seconds, not minutes, so that what goes wrong is seen at once; who sets one of them keeps it."""


class Command(BaseCommand):
    help = "Run everything that `up` runs, with a simulated fleet, devices and an ERP beside it, until SIGTERM."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--with-parent", action="store_true", help="stop also when the process that started this one ends"
        )

        parser.add_argument("--receive", type=int, metavar="PORT", help="only take the webhooks of the demonstration")
        parser.add_argument("--play", type=Path, metavar="KEYS", help="only play the scenes, with these keys")

    def handle(self, *, with_parent: bool, receive: int | None, play: Path | None, **options: Any) -> None:
        if with_parent:
            die_with_parent(os.getppid(), signal.SIGTERM)
        if receive is not None:
            receive_hooks(receive)
            return
        if play is not None:
            play_scenes(_url(), Fixtures.from_text(play.read_text()))
            return
        port = find_port()
        with correlated():
            cast = create_fixtures(f"http://127.0.0.1:{port}")
        connections.close_all()
        allowed = ",".join(filter(None, [os.environ.get(NETWORKS, ""), "127.0.0.1/32"]))
        environment = {**QUICK, **os.environ, "DATA_DIR": str(settings.DATA_DIR), NETWORKS: allowed}
        guard = Process("guard", "demo", arguments=("--receive", str(port)))
        Supervisor((*_players(cast), guard), program_starter(environment)).run()


def _players(cast: Fixtures) -> tuple[Process, ...]:
    """The product, and who calls it; a player that comes before the product serves is simply started again."""
    url = _url()
    folder = settings.DATA_DIR / "demo"
    make_folder(folder)
    keys = folder / "keys.json"
    write_durably(keys, [cast.to_text().encode()])
    devices = [word for device, key in cast.device_keys.items() for word in ("--device", f"{device}:{key}")]
    signals = ("--url", url, "--key", cast.signals_key, "--sensors", str(SENSORS), "--rate", "4", "--seconds", "0")
    fleet = (*signals, "--no-register")
    phones = ("--url", url, *devices, "--to", DATABASE, "--journal", str(folder / "devices.sqlite3"), "--rate", "1.5")
    rates = ("--deadlock-rate", "0.05", "--incorrect-rate", "0.05")
    store = ("--store", str(folder / "erp.sqlite3"), "--forever", "--every", "4")
    erp = ("--url", url, "--key", cast.database_keys[DATABASE], *store)
    return (
        Process("scenes", "demo", arguments=("--play", str(keys))),
        Process("fleet", "simulate_fleet", arguments=fleet),
        Process("devices", "simulate_devices", arguments=phones),
        Process("erp", "simulate_erp", arguments=(*erp, "--take-over", *rates)),
        Process("product", "up"),
    )


def _url() -> str:
    return f"http://127.0.0.1:{settings.ENV.port}"
