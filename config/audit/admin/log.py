import json
from collections.abc import Iterable
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from config.admin_base.pages import BigTableAdmin, badge, trace_link
from config.admin_base.theme import DropdownFilter, display
from config.audit.selectors import matching_log, visible_log
from config.audit.subjects import find_subject_names
from config.records.models import LogEntry

COLOURS = {"info": "info", "warning": "warning", "error": "danger"}


class LevelFilter(DropdownFilter):
    title = _("level")
    parameter_name = "level"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return list(LogEntry.Level.choices)

    def queryset(self, request: HttpRequest, queryset: QuerySet[LogEntry]) -> QuerySet[LogEntry]:
        return queryset.filter(level=self.value()) if self.value() else queryset


class KindFilter(DropdownFilter):
    title = _("kind")
    parameter_name = "kind"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return list(LogEntry.Kind.choices)

    def queryset(self, request: HttpRequest, queryset: QuerySet[LogEntry]) -> QuerySet[LogEntry]:
        return queryset.filter(kind=self.value()) if self.value() else queryset


@admin.register(LogEntry)
class LogEntryAdmin(BigTableAdmin[LogEntry]):
    list_display = ("at", "severity", "what", "about", "count")
    list_display_links = ("at", "what")
    list_filter = (LevelFilter, KindFilter)
    sorted_by_index = ("at",)
    search_fields = ("text",)
    search_help_text = _("Part of the English text")
    fields = ("at", "severity", "kind", "what", "about", "count", "chain", "content")

    def get_queryset(self, request: HttpRequest) -> QuerySet[LogEntry]:
        return visible_log(request.user)

    @display(description=_("level"), ordering="level")
    def severity(self, entry: LogEntry) -> SafeString:
        return badge(entry.get_level_display(), COLOURS[entry.level])

    @display(description=_("what happened"), ordering="template")
    def what(self, entry: LogEntry) -> str:
        return entry.words

    @display(description=_("object"))
    def about(self, entry: LogEntry) -> SafeString | str:
        """Lead to the page of the subject, and of an alert to what it is about; the codes are hints."""
        subjects = _subjects_of(entry)
        names = entry.names if hasattr(entry, "names") else find_subject_names(subjects)
        return format_html_join(" · ", "{}", ((_link(each, *names.get(each, ("", ""))),) for each in subjects)) or "–"

    def complete_rows(self, rows: Iterable[LogEntry]) -> None:
        """Find the names of all subjects by a few queries."""
        names = find_subject_names({subject for row in rows for subject in _subjects_of(row)})
        for row in rows:
            setattr(row, "names", names)  # noqa: B010 (rides along to the column)

    @display(description=_("correlation id"))
    def chain(self, entry: LogEntry) -> SafeString | str:
        return trace_link(entry.correlation_id)

    @display(description=_("details"))
    def content(self, entry: LogEntry) -> SafeString:
        text = json.dumps(entry.data, ensure_ascii=False, indent=2, sort_keys=True)
        return format_html('<pre class="pst-code">{}</pre>', text)

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[LogEntry], search_term: str
    ) -> tuple[QuerySet[LogEntry], bool]:
        """Search as `GET /log/` does: the words as they stand, whatever their case."""
        text = search_term.strip()
        return (queryset & matching_log(text=text) if text else queryset), False


def _subjects_of(entry: LogEntry) -> list[str]:
    return [str(each) for each in (entry.subject, entry.data.get("about")) if each]


def _link(subject: str, name: str, page: str) -> SafeString | str:
    if not name:
        return subject
    if not page:
        return format_html('<span title="{}">{}</span>', subject, name)
    return format_html('<a class="pst-link" href="{}" title="{}">{}</a>', page, subject, name)
