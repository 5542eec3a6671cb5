"""Answer `?message=&enterprise=`: why has the ERP, or the device, not had a message?"""

from collections.abc import Iterator, Mapping
from typing import Any

from django.db.models import Q
from django.urls import reverse
from django.utils.translation import gettext

from config.access.scopes import Scope
from config.audit.explain import Asker, Evidence, Explanation, Question, link_trace
from config.common.errors import Invalid
from config.common.times import format_time
from config.records.models import AccessKey, LogEntry
from messaging.errors import MessageNotFound
from messaging.models import LastRequest, Message
from messaging.subjects import subject_of
from processes.exchange.explanation.verdict import Case, Verdict, decide
from processes.exchange.explanation.words import write_sentence
from processes.exchange.models import ExchangeProcess, ProcessMessage
from processes.exchange.transitions import LIVE, overlap

MOST_PROCESSES = 100
"""Newest processes of a database among which those of the message's lane are looked for."""
MOST_ENTRIES, MOST_LINES = 10, 10
MESSAGE, PROCESS, LOG = "messaging.view_message", "exchange.view_exchangeprocess", "records.view_logentry"
DATABASE = "messaging.view_exchangedatabase"


def explain_message(asked: Mapping[str, Any], asker: Asker) -> Explanation:
    """Explain why a message has not reached its addressee, or say when it did."""
    message = _get_message(asked, asker)
    entries = ProcessMessage.objects.filter(message=message).select_related("process").order_by("-id")
    newest_entries = list(entries[:MOST_ENTRIES])
    case = _collect(message, newest_entries)
    decision = decide(case)
    is_request = message.direction == Message.Direction.REQUEST
    receiver = message.database.name if is_request else message.device.name
    words = gettext("Why has “%(receiver)s” not received message %(message)s?")
    page = reverse("admin:messaging_message_change", args=[message.pk])
    return Explanation(
        words % {"receiver": receiver, "message": message.public_id},
        decision.verdict.value,
        write_sentence(case, decision, asker.show_time),
        decision.since,
        decision.until,
        tuple(_evidence(case, newest_entries)),
        about=((message.public_id, page), *link_trace(message.correlation_id)),
    )


MESSAGE_QUESTION = Question(
    "message",
    Scope.OPERATIONS,
    explain_message,
    permission=MESSAGE,
    takes=("enterprise",),
    key_kinds=frozenset({AccessKey.Kind.DEVICE.value, AccessKey.Kind.DATABASE.value}),
    own_rows=frozenset({MESSAGE}),
    verdicts=tuple(verdict.value for verdict in Verdict),
    good=frozenset({Verdict.PROCESSED.value, Verdict.FETCHED.value}),
    errors=(MessageNotFound,),
)


def _get_message(asked: Mapping[str, Any], asker: Asker) -> Message:
    """Return the message; a key of a device or database sees what it has sent itself, as by its receipt."""
    enterprise = asker.enterprise or asked.get("enterprise")
    if not enterprise:
        raise Invalid({"enterprise": [gettext("An id of a message is unique within its enterprise alone.")]})
    found = Message.objects.select_related("database__enterprise", "device__subsystem__enterprise")
    found = found.filter(enterprise=enterprise, public_id=asked["message"])
    if asker.enterprise is not None:
        sent = Q(direction=Message.Direction.REQUEST, device=asker.subject)
        found = found.filter(sent | Q(direction=Message.Direction.REPLY, database=asker.subject))
    message = found.first()
    if message is None:
        raise MessageNotFound
    return message


def _collect(message: Message, entries: list[ProcessMessage]) -> Case:
    enterprise = message.database.enterprise
    holder = message.process or message.written_by
    processes = ExchangeProcess.objects.filter(database=message.database_id)
    live = processes.filter(status__in=LIVE).order_by("started_at")[:MOST_PROCESSES]  # few are live at once
    newest = processes.filter(started_at__gte=message.accepted_at).order_by("-started_at", "-id")[:MOST_PROCESSES]
    return Case(
        message,
        holder=None if holder is None else ExchangeProcess.objects.filter(pk=holder).first(),
        last_entry=entries[0] if entries else None,
        is_database_active=message.database.active and enterprise.active,
        is_device_active=message.device.active and enterprise.active,
        lane=next((each for each in live if overlap([message.subsystem_id], each.lane)), None),
        newest=next((each for each in newest if overlap([message.subsystem_id], each.lane)), None),
        last_request=LastRequest.objects.filter(database=message.database_id).first(),
    )


def _evidence(case: Case, entries: list[ProcessMessage]) -> Iterator[Evidence]:
    message = case.message
    data = {
        "status": message.status,
        "folder": message.folder,
        "error_text": message.error_text,
        "error_code": message.error_code,
        "setbacks": message.setbacks,
        "set_aside_at": message.set_aside_at and format_time(message.set_aside_at),
    }
    page = reverse("admin:messaging_message_change", args=[message.pk])
    summary = gettext("Message: %(status)s") % {"status": message.get_status_display()}
    yield Evidence(message.accepted_at, "message", message.public_id, summary, MESSAGE, data, page)
    shown = set()
    for entry in entries:
        shown.add(entry.process_id)
        result = gettext("left out") if entry.is_left_out else entry.get_result_display()
        yield _process_row(entry.process, result, error=entry.error_text)
    for process in (case.holder, case.lane, case.newest):
        if process is not None and process.pk not in shown:
            shown.add(process.pk)
            yield _process_row(process)
    is_waiting = message.direction == Message.Direction.REQUEST and message.status == Message.Status.WAITING
    # A process that began later is the newer request: what is kept is some seconds behind.
    begun = [each.started_at for each in (case.lane, case.newest) if each is not None]
    if is_waiting and case.last_request is not None and all(at <= case.last_request.asked_at for at in begun):
        yield _request_row(case.last_request)
    lines = LogEntry.objects.filter(subject=subject_of(message)).order_by("-id")[:MOST_LINES]
    for line in lines:
        page = reverse("admin:records_logentry_change", args=[line.pk])
        yield Evidence(line.at, "log", line.pk, line.words, LOG, {}, page)


def _request_row(last: LastRequest) -> Evidence:
    summary = gettext("Last request for messages: %(answer)s") % {"answer": last.get_answer_display()}
    page = reverse("admin:messaging_exchangedatabase_change", args=[last.database_id])
    data = {"answer": last.answer, "lane": last.lane}
    return Evidence(last.asked_at, "request", last.database_id, summary, DATABASE, data, page)


def _process_row(process: ExchangeProcess, result: str = "", *, error: str = "") -> Evidence:
    status = gettext("Process: %(status)s") % {"status": process.get_status_display()}
    data = {
        "status": process.status,
        "lane": process.lane,
        "ended_at": process.ended_at and format_time(process.ended_at),
        "error_text": error,
    }
    page = reverse("admin:exchange_exchangeprocess_change", args=[process.pk])
    summary = f"{status} · {result}" if result else status
    return Evidence(process.started_at, "process", str(process.pk), summary, PROCESS, data, page)
