from argparse import ArgumentParser
from functools import partial
from typing import Any

import structlog
from django.core.management.base import BaseCommand, CommandError

from config.common.background.daemon import Daemon, run_until_signalled
from processes.coordination.bus import open_bus
from processes.coordination.coordinator.liveness import HEARTBEAT_EVERY
from processes.coordination.roles import open_roles, role_names, send_heartbeats

log = structlog.get_logger(__name__)

WAIT_SECONDS = 0.2
"""How long a role listens before it looks for what is due without a message."""


class Command(BaseCommand):
    help = "Run the roles of coordination over RabbitMQ: all of them, or those that are named."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--role", action="append", help="writer, coordinator or reader/NAME; may be repeated")

    def handle(self, *args: Any, role: list[str] | None, **options: Any) -> None:
        names = role or role_names()
        for name in names:
            if name not in role_names():
                raise CommandError(f"{name} is none of {', '.join(role_names())}")
        roles = open_roles(names)
        bus = open_bus()
        log.info("coordination.started", roles=names)
        run_until_signalled(
            *(Daemon(partial(each.run_once, WAIT_SECONDS), every=0.0, name=each.queue) for each in roles),
            Daemon(
                partial(send_heartbeats, bus, roles), every=HEARTBEAT_EVERY.total_seconds(), name="coordination.alive"
            ),
        )
