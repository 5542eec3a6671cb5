"""What the search of the admin finds here: change sets, by their number."""

from django.urls import reverse
from django.utils.formats import date_format
from django.utils.timezone import localtime

from config.admin_base.search import Found, SearchHit, SearchText
from processes.coordination.models import AppEvent
from processes.coordination.schema.entities import type_names

TYPES = type_names()


def find_change_sets(asked: SearchText, most: int) -> Found:
    rows = AppEvent.objects.filter(pk=asked.number) if asked.number is not None else ()
    hits = []
    for event in rows:
        made = date_format(localtime(event.date), "SHORT_DATETIME_FORMAT")
        page = reverse("admin:coordination_appevent_change", args=[event.pk])
        about = f"{TYPES.get(event.app_event_type_id, '')} · {made}"
        hits.append(SearchHit(f"#{event.pk}", about, page, is_exact=True))
    return Found(hits)
