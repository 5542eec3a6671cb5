"""Build the row of a message file: from its name, and from its head what the name does not say."""

import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

from messaging.files.envelope import fingerprint, head_of
from messaging.files.names import FileName, parties_of
from messaging.files.reader import CHUNK
from messaging.files.scan import FoundFile
from messaging.models import Device, Enterprise, ExchangeDatabase, Message, Subsystem

Direction, Folder, Status = Message.Direction, Message.Folder, Message.Status
LONGEST_HEAD = 2048
_PAYLOAD = b',"payload":'
STATUS_IN = {Folder.MESSAGES: Status.WAITING, Folder.LOG: Status.PROCESSED, Folder.ERROR: Status.INCORRECT}
"""The status of a message by its folder; in Unknown and Prepared it is in doubt."""


class UnrecognizedFile(Exception):
    """The file is no message of a registered party; the text says why."""


class Parties:
    """The registered parties, looked up once each."""

    def __init__(self) -> None:
        self._databases = {row.pk: row for row in ExchangeDatabase.objects.all()}
        self._devices = dict(Device.objects.values_list("pk", "subsystem__enterprise_id"))
        self._subsystems = dict(Subsystem.objects.values_list("pk", "enterprise_id"))

    def check(self, found: FoundFile) -> tuple[ExchangeDatabase, FileName]:
        """Return the database and the parsed name; raise `UnrecognizedFile` unless its parties belong together."""
        database = self._databases.get(found.database_id)
        if database is None:
            raise UnrecognizedFile("there is no such database")
        if found.name is None:
            raise UnrecognizedFile("it is not named like a message")
        name, enterprise = found.name, database.enterprise_id
        if database.pk not in (name.sender, name.to):
            raise UnrecognizedFile("it names another database")
        device = name.sender if name.to == database.pk else name.to
        if self._devices.get(device) != enterprise or self._subsystems.get(name.subsystem) != enterprise:
            raise UnrecognizedFile("its device or subsystem is not registered")
        return database, name


def build_row(found: FoundFile, database: ExchangeDatabase, name: FileName) -> Message:
    """Make the row that the file stands for, as it lies there."""
    is_request = name.to == database.pk
    message = Message(
        enterprise=Enterprise(pk=database.enterprise_id),
        public_id=name.id,
        direction=Direction.REQUEST if is_request else Direction.REPLY,
        database=database,
        device_id=name.sender if is_request else name.to,
        subsystem_id=name.subsystem,
        created_at=name.created_at,
        accepted_at=found.changed_at,
        size=found.size,
        folder=found.folder,
        status=STATUS_IN.get(Folder(found.folder), Status.IN_DOUBT),
        settled_at=found.changed_at if found.folder in (Folder.LOG, Folder.ERROR) else None,
    )
    _read_head(message, found.path)
    return message


def _read_head(message: Message, path: Path) -> None:
    """Take over what only the file knows; one that is not as we write them raises `UnrecognizedFile`."""
    with open(path, "rb", opener=_open_plainly) as file:
        start = file.read(LONGEST_HEAD)
    head, found, _ = start.partition(_PAYLOAD)
    try:
        fields = msgspec.json.decode(head + b"}", type=dict[str, str | int])
    except msgspec.MsgspecError as error:
        raise UnrecognizedFile("its head cannot be read") from error
    message.reply_to, message.correlation_id = str(fields.get("reply_to", "")), str(fields.get("correlation_id", ""))
    if not found or head_of(message) != head + found:
        raise UnrecognizedFile("its head is not that of a message")
    message.digest = fingerprint(parties_of(message)[1], _payload(path, skip=len(head) + len(found)))


def _payload(path: Path, *, skip: int) -> Iterator[bytes]:
    """Yield the bytes between the head and the closing brace."""
    with open(path, "rb", opener=_open_plainly) as file:
        left = os.fstat(file.fileno()).st_size - skip - 1
        file.seek(skip)
        while left > 0 and (chunk := file.read(min(CHUNK, left))):
            left -= len(chunk)
            yield chunk


def _open_plainly(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK)
