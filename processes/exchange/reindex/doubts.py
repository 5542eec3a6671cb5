"""Put files in doubt that no row explains: a request and its replies wait in a process until it is settled."""

from collections.abc import Collection
from datetime import datetime

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.db.models.functions import Now
from django.utils.translation import gettext_noop

from config.common.background.ring import ring
from config.records.models import LogEntry
from messaging.models import Message
from processes.exchange.models import ExchangeProcess, ProcessMessage
from processes.exchange.services.processes import IN_DOUBT, raise_process_alert, write_process_log
from processes.exchange.services.settlement import MOVES

Direction, Folder, Status = Message.Direction, Message.Folder, Message.Status
NOTHING_PREPARED = bytes(32)


class DoubtfulProcesses:
    """Processes for what was found, one per request: what is true of one need not be true of another."""

    def __init__(self, at: datetime) -> None:
        self._at = at
        self._processes: dict[tuple[str, str], ExchangeProcess] = {}

    def add(self, message: Message) -> None:
        """Put a message, which may be new, into a process in doubt."""
        process = self._process_of(message)
        lies_in = message.moving_from or message.folder
        message.status, message.folder, message.process = Status.IN_DOUBT, Folder.UNKNOWN, process.pk
        message.moving_from = "" if lies_in == Folder.UNKNOWN else lies_in
        message.settled_at = message.set_aside_at = None
        message.save()
        if message.direction == Direction.REPLY:
            self._note_reply(process, message)
        else:
            self._note_request(process, message)

    def add_waiting(self, keys: Collection[int]) -> None:
        """Put those of these messages in doubt that are still waiting."""
        for key in sorted(keys):
            message = Message.objects.select_for_update().get(pk=key)
            if message.status == Status.WAITING:
                self.add(message)

    def add_answered(self, *, after_restore: bool) -> None:
        """Put unsettled requests in doubt that have a reply of no known process: the ERP may have committed them.

        A process in doubt that such a request is in was before the one that wrote the reply, and gives it up. After a
        restore the reply may even be delivered, while the request was still to be moved.
        """
        for message in _answered(after_restore).select_for_update(of=("self",)):
            if message.process != self._process_of(message).pk:
                self.add(message)

    def _process_of(self, message: Message) -> ExchangeProcess:
        """Return the process of this request and its replies; it is created when first needed."""
        is_request = message.direction == Direction.REQUEST
        request_id = message.public_id if is_request else message.reply_to or message.public_id
        key = (message.enterprise_id, request_id)
        if key not in self._processes:
            self._processes[key] = _find_process(*key) or self._make_process(message.database_id)
        return self._processes[key]

    def _make_process(self, database_id: str) -> ExchangeProcess:
        process = ExchangeProcess.objects.create(
            database_id=database_id,
            status=ExchangeProcess.Status.IN_DOUBT,
            started_at=self._at,
            ready_at=self._at,
            ended_at=self._at,
            prepared=NOTHING_PREPARED,
            due_at=Now(),
        )
        text = gettext_noop("Files were found whose process is no longer known")
        write_process_log(process, text, level=LogEntry.Level.ERROR)
        title = gettext_noop("Files of %(database)s were found whose process is unknown: was it committed?")
        raise_process_alert(IN_DOUBT, process, title)
        ring(MOVES)
        return process

    def _note_reply(self, process: ExchangeProcess, reply: Message) -> None:
        Message.objects.filter(pk=reply.pk).update(written_by=process.pk)
        process.replies = [*process.replies, reply.public_id]
        process.save(update_fields=["replies"])

    def _note_request(self, process: ExchangeProcess, request: Message) -> None:
        ProcessMessage.objects.get_or_create(
            process=process,
            message=request,
            defaults={"place": request.pk, "result": ProcessMessage.Result.PROCESSED, "prepared_at": self._at},
        )


def _answered(after_restore: bool) -> QuerySet[Message]:
    """Return the requests that wait or are in doubt and have a reply that no known process explains."""
    is_found = Q(status=Status.IN_DOUBT, process__in=_found_processes().values("pk"))
    unexplained = Message.objects.filter(
        is_found | Q(written_by=None) if after_restore else is_found,
        direction=Direction.REPLY,
        enterprise=OuterRef("enterprise"),
        reply_to=OuterRef("public_id"),
    )
    open_requests = Message.objects.filter(direction=Direction.REQUEST, status__in=[Status.WAITING, Status.IN_DOUBT])
    return open_requests.filter(Exists(unexplained)).order_by("pk")


def _find_process(enterprise_id: str, about: str) -> ExchangeProcess | None:
    """Find the process that an earlier, interrupted run has created."""
    doubtful = Message.objects.filter(
        Q(public_id=about) | Q(reply_to=about), enterprise=enterprise_id, status=Status.IN_DOUBT
    )
    return _found_processes().filter(pk__in=doubtful.values("process")).first()


def _found_processes() -> QuerySet[ExchangeProcess]:
    return ExchangeProcess.objects.filter(status=ExchangeProcess.Status.IN_DOUBT, prepared=NOTHING_PREPARED)
