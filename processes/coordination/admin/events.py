from collections.abc import Iterable
from typing import Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, path
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from config.access.permissions import has_scope
from config.access.scopes import Scope
from config.admin_base.pages import BigTableAdmin, badge, get_subject
from config.admin_base.theme import display
from processes.coordination.admin.event_page import build_event_page
from processes.coordination.admin.filters import EntityFilter, RefusedFilter, StatusFilter, find_events
from processes.coordination.admin.presentation import (
    format_age,
    format_payloads,
    format_seconds,
    format_type,
    status_badge,
    verdict_badge,
)
from processes.coordination.admin.progress import draw_progress
from processes.coordination.admin.readers_card import build_readers_card
from processes.coordination.admin.resolve_view import resolve_view
from processes.coordination.models import AppEvent
from processes.coordination.selectors import EventOverview, view_events
from processes.coordination.writer.resolution import Action


@admin.register(AppEvent)
class AppEventAdmin(BigTableAdmin[AppEvent]):
    list_display = ("about", "state", "progress", "payloads", "readers", "age")
    list_filter = (StatusFilter, EntityFilter, RefusedFilter)
    empty_text = _("Every change of the registry appears here on its way to the readers.")
    list_before_template = "admin/coordination/readers.html"
    search_fields = ("id",)
    search_help_text = _("Number of a change set, or exact correlation id")
    ordering = ("-id",)
    actions = None
    change_form_outer_after_template = "admin/coordination/event.html"

    class Media:
        css = {"all": ["postern/sensors.css", "postern/messaging.css", "postern/coordination.css"]}

    @display(description=_("change set"), ordering="pk")
    def about(self, event: AppEvent) -> SafeString:
        words = format_type(event.app_event_type_id)
        return format_html('<div class="pst-set">{}<div class="pst-quiet">{}</div></div>', event.pk, words)

    @display(description=_("status"), ordering="app_event_status_id")
    def state(self, event: AppEvent) -> SafeString:
        view = _view(event)
        if view.coordinated is not None and view.coordinated.is_waiting:
            return format_html("{} {}", status_badge(view), badge(_("waiting"), "warning"))
        return status_badge(view)

    @display(description=_("progress"))
    def progress(self, event: AppEvent) -> SafeString:
        return draw_progress(_view(event))

    @display(description=_("payloads"), ordering="payload_count")
    def payloads(self, event: AppEvent) -> SafeString:
        return format_html('<span class="pst-nowrap">{}</span>', format_payloads(_view(event)))

    @display(description=_("readers"))
    def readers(self, event: AppEvent) -> SafeString:
        now = timezone.now()
        rows = (
            (reader.name, verdict_badge(reader), format_seconds(reader.lag(event.date, now)))
            for reader in _view(event).readers
        )
        return format_html_join(
            "", '<div class="pst-verdict"><span>{}</span> {} <span class="pst-quiet">{}</span></div>', rows
        )

    @display(description=_("age"), ordering="date")
    def age(self, event: AppEvent) -> SafeString:
        return format_age(event.date, timezone.now())

    def get_fieldsets(self, request: HttpRequest, obj: AppEvent | None = None) -> Any:
        """Return no fields: the cards of the page show everything."""
        return []

    def get_urls(self) -> list[URLPattern]:
        guard = self.admin_site.admin_view
        return [
            path("<path:object_id>/retry/", guard(self.retry_view), name="coordination_appevent_retry"),
            path("<path:object_id>/accept/", guard(self.accept_view), name="coordination_appevent_accept"),
            *super().get_urls(),
        ]

    def complete_rows(self, rows: Iterable[AppEvent]) -> None:
        """Read what all roles know of the events, at once."""
        for view in view_events(list(rows)):
            setattr(view.event, "seen", view)  # noqa: B010 (rides along to the columns)

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[AppEvent], search_term: str
    ) -> tuple[QuerySet[AppEvent], bool]:
        text = search_term.strip()
        return (find_events(queryset, text) if text else queryset), False

    def has_resolve_permission(self, request: HttpRequest) -> bool:
        """Return whether the person may resolve compensations: the scope that REST asks for."""
        return has_scope(request.user, Scope.COORDINATION) and self.has_view_permission(request)

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        card = build_readers_card(timezone.now()) if self.has_view_permission(request) else None
        return super().changelist_view(request, {**(extra_context or {}), "card": card})

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        event = self.get_object(request, object_id) if self.has_view_permission(request) else None
        page = None
        if event is not None:
            may_resolve = self.has_resolve_permission(request)
            page = build_event_page(request, event, may_resolve=may_resolve, now=timezone.now())
        return super().change_view(request, object_id, form_url, {**(extra_context or {}), "page": page})

    def retry_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        return self._resolve(request, object_id, Action.RETRY)

    def accept_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        return self._resolve(request, object_id, Action.ACCEPT)

    def _resolve(self, request: HttpRequest, object_id: str, action: Action) -> HttpResponse:
        if not self.has_resolve_permission(request):
            raise PermissionDenied
        return resolve_view(self, request, get_subject(self, request, object_id), action)


def _view(event: AppEvent) -> EventOverview:
    seen: EventOverview = getattr(event, "seen")  # noqa: B009 (set by the list)
    return seen
