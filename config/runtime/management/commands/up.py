import os
import signal
import socket
from argparse import ArgumentParser
from collections.abc import Iterable
from importlib import import_module
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError

from config.common.background.process_control import die_with_parent
from config.counters import ensure_folder, remove_own_folder, remove_stale_folders
from config.load import loading
from config.runtime import processes
from config.runtime.alerts.database_watch import has_recipient, watch_daemon
from config.runtime.data_lock import InUse, RestoreUnfinished, serving
from config.runtime.scheduler import Scheduler
from config.runtime.spawn import Forked, fork_process
from config.runtime.supervisor import Supervisor
from config.runtime.web import PortTaken, listen, serve

WEB = ("config.asgi", "config.urls")
LOADED = (*WEB, "config.celery", "celery.bin.worker", "celery.apps.worker", "celery.apps.beat")


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
        chosen = processes.needed_processes(settings.ENV)
        try:
            with serving():
                if chosen:
                    _supervise(chosen, listener)
                else:
                    _be_all_in_one(listener)
        except (InUse, RestoreUnfinished) as error:
            raise CommandError(str(error)) from error


def _be_all_in_one(listener: socket.socket) -> None:
    load(WEB)
    scheduler = Scheduler()
    scheduler.start()
    watch = watch_daemon()
    if has_recipient():
        watch.start()
    try:
        serve(listener)
    finally:
        watch.stop()
        scheduler.stop()


def _supervise(chosen: tuple[processes.Process, ...], listener: socket.socket) -> None:
    """Fork the processes and keep them up; each of them arrives here too, and goes on as what it is."""
    remove_stale_folders()
    load(LOADED)
    try:
        Supervisor(chosen, fork_process).run()
    except Forked as forked:
        mine = forked.process
        ensure_folder()
    else:
        remove_own_folder()
        return
    if mine.name == "web":
        serve(listener)
        return
    listener.close()
    call_command(mine.command, *mine.arguments)


def load(modules: Iterable[str]) -> None:
    """Load what will be needed, before anything is forked."""
    with loading():
        for module in modules:
            import_module(module)
