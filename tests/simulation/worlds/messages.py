"""Devices send messages, drafts are swept, the power is cut: every accepted message has its row and its whole file."""

import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

import msgspec
from django.db import Error
from django.test import override_settings
from django.utils import timezone

from config.common.errors import ApplicationError
from config.common.files import DRAFT
from messaging.files import paths, volume
from messaging.files.envelope import content_of
from messaging.files.paths import draft_of, path_of, possible_paths
from messaging.models import Device, Message
from messaging.services.retention import sweep_drafts
from messaging.services.send import NewMessage, check_addressee, send_message
from tests.messaging.parties import make_database, make_device
from tests.simulation.disk import SimulatedVolume
from tests.simulation.ledger import Ledger
from tests.simulation.scheduler import Scheduler
from tests.simulation.threads import OfProcess
from tests.simulation.world import World

HOUR = 3600.0
TRIES = 4


class MessagesWorld(World):
    name = "messages"
    seconds = 3 * HOUR
    seeds = range(40)
    rest_seconds = 3 * HOUR
    patience = 4 * HOUR

    def __init__(self, scheduler: Scheduler, size: int) -> None:
        super().__init__(scheduler, size)
        self.ledger = Ledger()
        self._folder = Path(tempfile.mkdtemp(prefix="simulated-"))
        self.volume = SimulatedVolume(scheduler, self._folder)

    @contextmanager
    def in_place(self) -> Iterator[None]:
        try:
            with (
                override_settings(DATA_DIR=self._folder),
                patch.object(paths, "_ensured", OfProcess(self.scheduler, set)),
                patch.object(volume, "_known", OfProcess(self.scheduler, dict)),
                self.volume.in_place(),
            ):
                yield
        finally:
            shutil.rmtree(self._folder)

    def begin(self) -> None:
        make_database("erp")
        for number in (1, 2):
            make_device(f"phone-{number}")
        check_addressee(
            "erp", "acme"
        )  # kept for as long as Python lives: the first run must not differ from the second
        volume.adopt_volume()
        self.volume.sync_all()
        for number in (1, 2):
            self.scheduler.start(f"device-{number}", lambda number=number: self._send(number))  # type: ignore[misc]
        self.scheduler.start("sweeper", self._sweep)
        if self.scheduler.chance("power") < 0.5:
            self.scheduler.later(self.scheduler.chance("cut") * self.seconds, self.volume.cut_power)

    def _send(self, number: int) -> None:
        """Send message after message, each until it is accepted; a caller gives up after a few times."""
        device = Device.objects.select_related("subsystem").get(pk=f"phone-{number}")
        while (count := self.ledger.next_number(device.pk)) <= self.size:
            key = f"{number}-{count}"
            for _ in range(TRIES):
                with self.ledger.attempt(key, failures=(Error, ApplicationError, OSError)):
                    body = NewMessage(version=1, to="erp", payload=msgspec.Raw(payload_of(key)), id=key)
                    send_message(device=device, body=body, at=timezone.now())
                if key in self.ledger.accepted:
                    break
                time.sleep(5.0)
            time.sleep(self.scheduler.chance("pause") ** 2 * HOUR)

    def _sweep(self) -> None:
        while True:
            sweep_drafts()
            time.sleep(HOUR / 2)

    def is_quiet(self) -> bool:
        return True

    def end(self) -> None:
        """Cut the power once more: what was accepted has been on the disk all the time."""
        known = {draft_of(message) for message in Message.objects.all()}
        self._strays = [draft.name for draft in self._folder.rglob(f"{DRAFT}*") if draft not in known]
        self.volume.cut_power()

    def check(self) -> Iterator[str]:
        rows = {message.public_id: message for message in Message.objects.all()}
        yield from self.ledger.check(rows)
        for key, message in rows.items():
            expected = b"".join(content_of(message, payload_of(key)))
            found = [path for path in {path_of(message), *possible_paths(message)} if path.exists()]
            if not found:
                yield f"the file of {key} is lost"
            yield from (f"the file of {key} is broken" for path in found if path.read_bytes() != expected)
        yield from (f"{name} belongs to nobody, and is still there after hours" for name in self._strays)


def payload_of(key: str) -> bytes:
    return msgspec.json.encode({"key": key, "text": "x" * 50})
