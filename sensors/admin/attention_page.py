"""The page of doors that are open for longer than they may be, and of sensors that have been lost for longest."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils import timezone
from django.utils.translation import gettext

from config.admin_base.theme import ModelAdmin
from sensors.models import Sensor
from sensors.selectors import left_open_doors, longest_lost

ROWS = 50
MOST_PAGES = 100


def attention_page(model_admin: ModelAdmin[Sensor], request: HttpRequest) -> HttpResponse:
    doors, open_pages = _cut(left_open_doors(timezone.now()), request, "open_page")
    states, lost_pages = _cut(longest_lost(), request, "lost_page")
    context = {
        **model_admin.admin_site.each_context(request),
        "opts": model_admin.opts,
        "media": model_admin.media,
        "title": gettext("Left open or lost"),
        "doors": doors,
        "states": states,
        "open_pages": open_pages,
        "lost_pages": lost_pages,
    }
    return TemplateResponse(request, "admin/sensors/sensor/attention.html", context)


def _cut(rows: Any, request: HttpRequest, name: str) -> tuple[list[Any], dict[str, str]]:
    """Return one page of rows, and the queries of the pages before and behind it."""
    text = request.GET.get(name, "")
    page = min(int(text), MOST_PAGES) if text.isascii() and text.isdigit() and len(text) < 6 else 1
    page = max(page, 1)
    found = list(rows[(page - 1) * ROWS : page * ROWS + 1])

    def query(number: int) -> str:
        asked = request.GET.copy()
        asked[name] = str(number)
        return asked.urlencode()

    pages = {"newer": query(page - 1) if page > 1 else ""}
    pages["older"] = query(page + 1) if len(found) > ROWS and page < MOST_PAGES else ""
    return found[:ROWS], pages
