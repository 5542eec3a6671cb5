"""The processes of a message, for its page."""

from django.urls import reverse

from messaging.models import Message
from messaging.stages import Stage, register_stages
from processes.exchange.admin.presentation import result_badge, status_badge
from processes.exchange.models import ExchangeProcess, ProcessMessage


def find_stages(message: Message, most: int) -> list[Stage]:
    if message.written_by is not None:
        return [_stage(process) for process in ExchangeProcess.objects.filter(pk=message.written_by)]
    entries = ProcessMessage.objects.filter(message=message).select_related("process").order_by("-id")[:most]
    return [_stage(entry.process, entry) for entry in entries]


def _stage(process: ExchangeProcess, entry: ProcessMessage | None = None) -> Stage:
    page = reverse("admin:exchange_exchangeprocess_change", args=[process.pk])
    return Stage(
        process.started_at,
        str(process.pk),
        page,
        status_badge(process),
        result="" if entry is None else result_badge(entry),
        error="" if entry is None else entry.error_text,
    )


register_stages("exchange.view_exchangeprocess", find_stages)
