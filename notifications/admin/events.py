import json
from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from config.admin_base.pages import BigTableAdmin, trace_link
from config.admin_base.theme import DropdownFilter, display
from notifications.admin.presentation import name_rows, named_of, subject_element
from notifications.event_titles import known_types, row_title_html, title_value
from notifications.models import Event


class TypeFilter(DropdownFilter):
    """Searches the last day alone: a rare type would mean reading every partition."""

    title = _("what happened (last 24 hours)")
    parameter_name = "type"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """Return the known types, and the one asked for: those of workflows have any name."""
        known, asked = known_types(), str(request.GET.get(self.parameter_name, "")).strip()
        return known if not asked or asked in dict(known) else [*known, (asked, asked)]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Event]) -> QuerySet[Event]:
        type = (self.value() or "").strip()
        if not type:
            return queryset
        return queryset.filter(type=type, recorded_at__gte=timezone.now() - timedelta(hours=24))


@admin.register(Event)
class EventAdmin(BigTableAdmin[Event]):
    list_display = ("at", "title", "about", "position", "chain")
    list_filter = (TypeFilter,)
    not_listed = ("payload",)
    empty_text = _("Every fact that Postern records appears here: a door that opens, a message that comes in.")
    search_fields = ("=subject", "=correlation_id")
    search_help_text = _("Exact object or correlation id")
    fields = ("title", "type", "about", "at", "recorded_at", "position", "chain", "content")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Event]:
        """Read of the payload, which may be of any length, what the titles need."""
        return super().get_queryset(request).annotate(title_value=title_value("payload"))

    @display(description=_("what happened"), ordering="type")
    def title(self, event: Event) -> SafeString:
        return row_title_html(event, "payload")

    @display(description=_("object"), ordering="subject")
    def about(self, event: Event) -> SafeString | str:
        return subject_element(event.subject, named_of(event))

    def complete_rows(self, rows: Iterable[Event]) -> None:
        name_rows(rows)

    @display(description=_("correlation id"), ordering="correlation_id")
    def chain(self, event: Event) -> SafeString | str:
        return trace_link(event.correlation_id)

    @display(description=_("payload"))
    def content(self, event: Event) -> SafeString:
        return as_code(event.payload)


def as_code(value: object) -> SafeString:
    """Return a JSON value laid out on several lines."""
    text = json.dumps(value, ensure_ascii=False, indent=2, sort_keys=True)
    return format_html('<pre class="pst-code">{}</pre>', text)
