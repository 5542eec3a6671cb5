import os
import shutil
import signal
import socket
from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from config.common.orphans import die_with_parent
from config.runtime import processes
from config.runtime.management.commands.run_web import LISTENER_VARIABLE
from config.runtime.metrics import FOLDER_VARIABLE
from config.runtime.scheduler import Scheduler
from config.runtime.supervisor import Supervisor
from config.runtime.watch import is_wanted, watch_daemon
from config.runtime.web import PortTaken, listen, serve


class Command(BaseCommand):
    help = "Run all processes of the configured profile, until SIGTERM."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--with-parent", action="store_true", help="stop also when the process that started this one ends"
        )

    def handle(self, *, with_parent: bool, **options: Any) -> None:
        if with_parent:
            die_with_parent(os.getppid(), signal.SIGTERM)
        try:
            listener = listen(settings.ENV.bind_address, settings.ENV.port)
        except PortTaken as taken:
            raise CommandError(str(taken)) from taken
        chosen = processes.needed(settings.ENV)
        if chosen:
            _supervise(chosen, listener)
        else:
            _be_all_in_one(listener)


def _be_all_in_one(listener: socket.socket) -> None:
    scheduler = Scheduler()
    scheduler.start()
    watch = watch_daemon()
    if is_wanted():
        watch.start()
    try:
        serve(listener)
    finally:
        watch.stop()
        scheduler.stop()


def _supervise(chosen: tuple[processes.Process, ...], listener: socket.socket) -> None:
    folder = settings.DATA_DIR / "metrics" / f"{socket.gethostname()}-{settings.ENV.port}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    environment = {
        **os.environ,
        "DATA_DIR": str(settings.DATA_DIR),
        FOLDER_VARIABLE: str(folder),
        LISTENER_VARIABLE: str(listener.fileno()),
    }
    try:
        Supervisor(chosen, environment=environment, descriptors={"web": listener.fileno()}).run()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
