"""What the search of the admin finds here: exchange processes, by their id or its beginning."""

from django.urls import reverse
from django.utils.formats import date_format
from django.utils.timezone import localtime

from config.admin_base.search import Found, SearchHit, SearchText
from processes.exchange.models import ExchangeProcess


def find_processes(asked: SearchText, most: int) -> Found:
    if asked.uuid_range is None:
        return Found()
    rows = ExchangeProcess.objects.filter(pk__range=asked.uuid_range).select_related("database")
    return Found([_hit(process) for process in rows.order_by("pk")[:most]])


def _hit(process: ExchangeProcess) -> SearchHit:
    started = date_format(localtime(process.started_at), "SHORT_DATETIME_FORMAT")
    words = f"{process.database} · {process.get_status_display()} · {started}"
    page = reverse("admin:exchange_exchangeprocess_change", args=[process.pk])
    return SearchHit(str(process.pk), words, page, is_exact=True)
