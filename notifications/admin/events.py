import json
from datetime import timedelta

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from config.admin_base.pages import BigTableAdmin, trace_link
from config.admin_base.theme import TextFilter, display
from notifications.models import Event


class TypeFilter(TextFilter):
    """Searches the last day alone: a rare type would mean reading every partition."""

    title = _("type (last 24 hours)")
    parameter_name = "type"

    def queryset(self, request: HttpRequest, queryset: QuerySet[Event]) -> QuerySet[Event]:
        type = (self.value() or "").strip()
        if not type:
            return queryset
        return queryset.filter(type=type, recorded_at__gte=timezone.now() - timedelta(hours=24))


@admin.register(Event)
class EventAdmin(BigTableAdmin[Event]):
    list_display = ("at", "type", "subject", "position", "chain")
    list_filter = (TypeFilter,)
    not_listed = ("payload",)
    list_filter_submit = True
    search_fields = ("=subject", "=correlation_id")
    search_help_text = _("Exact subject or correlation id")
    fields = ("type", "subject", "at", "recorded_at", "position", "chain", "content")

    @display(description=_("correlation id"))
    def chain(self, event: Event) -> SafeString | str:
        return trace_link(event.correlation_id)

    @display(description=_("payload"))
    def content(self, event: Event) -> SafeString:
        return as_code(event.payload)


def as_code(value: object) -> SafeString:
    """Return a JSON value laid out on several lines."""
    text = json.dumps(value, ensure_ascii=False, indent=2, sort_keys=True)
    return format_html('<pre class="pst-code">{}</pre>', text)
