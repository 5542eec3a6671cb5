"""What the disk shows and no row explains is in doubt: one process per database holds it until it is settled."""

from datetime import datetime

from django.db.models.functions import Now
from django.utils.translation import gettext_noop

from config.common.ring import ring
from config.records.models import LogEntry
from messaging.models import Message
from processes.exchange.models import ExchangeProcess, ProcessMessage
from processes.exchange.services.settling import MOVES
from processes.exchange.services.telling import IN_DOUBT, alert, log

Folder, Status = Message.Folder, Message.Status
NOTHING_PREPARED = bytes(32)


class Doubts:
    def __init__(self, at: datetime) -> None:
        self._at = at
        self._processes: dict[str, ExchangeProcess] = {}
        self._answered: set[tuple[str, str]] = set()

    def hold(self, message: Message) -> None:
        """Put a message, which may be new, aside until it is known what became of it."""
        process = self._process_of(message.database_id)
        lies_in = message.moving_from or message.folder
        message.status, message.folder, message.process = Status.IN_DOUBT, Folder.UNKNOWN, process.pk
        message.moving_from = "" if lies_in == Folder.UNKNOWN else lies_in
        message.settled_at = None
        message.save()
        if message.direction == Message.Direction.REPLY:
            self._note_reply(process, message)
        else:
            self._note_request(process, message)

    def hold_answered(self) -> None:
        """Hold what still waits and has an answer that nobody knows of: the ERP may have committed its effect."""
        for enterprise_id, public_id in sorted(self._answered):
            waiting = Message.objects.select_for_update().filter(enterprise=enterprise_id, public_id=public_id)
            for message in waiting.filter(direction=Message.Direction.REQUEST, status=Status.WAITING):
                self.hold(message)

    def _process_of(self, database_id: str) -> ExchangeProcess:
        """Return the process that holds what is in doubt in this database, making it when it is first wanted."""
        if database_id not in self._processes:
            process = ExchangeProcess.objects.create(
                database_id=database_id,
                status=ExchangeProcess.Status.IN_DOUBT,
                started_at=self._at,
                ready_at=self._at,
                ended_at=self._at,
                prepared=NOTHING_PREPARED,
                due_at=Now(),
            )
            text = gettext_noop("Files were found whose process is not known any more")
            log(process, text, level=LogEntry.Level.ERROR)
            title = gettext_noop("Files of %(database)s were found whose process is not known: was it committed?")
            alert(IN_DOUBT, process, title)
            ring(MOVES)
            self._processes[database_id] = process
        return self._processes[database_id]

    def _note_reply(self, process: ExchangeProcess, reply: Message) -> None:
        Message.objects.filter(pk=reply.pk).update(written_by=process.pk)
        process.replies = [*process.replies, reply.public_id]
        process.save(update_fields=["replies"])
        if reply.reply_to:
            self._answered.add((reply.enterprise_id, reply.reply_to))

    def _note_request(self, process: ExchangeProcess, request: Message) -> None:
        ProcessMessage.objects.get_or_create(
            process=process,
            message=request,
            defaults={"place": request.pk, "result": ProcessMessage.Result.PROCESSED, "prepared_at": self._at},
        )
