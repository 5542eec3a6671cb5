"""Followers of the events, and the incidents: events that a follower could not take."""

from collections.abc import Iterable
from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import F, QuerySet, Subquery
from django.db.models.functions import Coalesce, Greatest
from django.http import HttpRequest, HttpResponse
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from config.access.scopes import Scope, permission
from config.admin_base.pages import (
    BigTableAdmin,
    Question,
    ReadOnlyAdmin,
    actor_of,
    ask_then_act,
    badge,
    get_subject,
    reason_field,
)
from config.admin_base.theme import DropdownFilter, action, display
from notifications.admin.events import as_code
from notifications.admin.presentation import name_rows, named_of, subject_element
from notifications.event_titles import event_title_html
from notifications.models import Follower, Incident, Sequencer
from notifications.services.incidents import dismiss_incident, retry_incident


@admin.register(Follower)
class FollowerAdmin(ReadOnlyAdmin[Follower]):
    list_display = ("name", "state", "lag", "position", "failures", "last_error")
    fields = ("name", "state", "lag", "position", "failures", "last_error", "due_at")
    empty_text = _("Each part of Postern that reads the events appears here when it has begun to read.")

    @display(description=_("state"), ordering="failures")
    def state(self, follower: Follower) -> SafeString:
        if follower.failures:
            return badge(gettext("failing"), "danger")
        return badge(gettext("reading"), "info") if self.lag(follower) else badge(gettext("up to date"), "success")

    @display(description=_("events behind"), ordering="events_behind")
    def lag(self, follower: Follower) -> int:
        return int(getattr(follower, "events_behind", 0))

    def get_queryset(self, request: HttpRequest) -> QuerySet[Follower]:
        last = Coalesce(Subquery(Sequencer.objects.filter(pk=1).values("position")[:1]), 0)
        return super().get_queryset(request).annotate(events_behind=Greatest(last - F("position"), 0))


class StateFilter(DropdownFilter):
    title = _("state")
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [("open", _("open")), ("resolved", _("resolved"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Incident]) -> QuerySet[Incident]:
        if not self.value():
            return queryset
        return queryset.filter(resolved_at__isnull=self.value() == "open")


class DismissForm(forms.Form):
    reason = reason_field(_("Kept with the incident, with your name."))


@admin.register(Incident)
class IncidentAdmin(BigTableAdmin[Incident]):
    list_display = ("at", "state", "follower", "title", "about", "summary")
    list_filter = (StateFilter,)
    empty_text = _("An event that a consumer could not process in ten attempts is kept here for a decision.")
    list_select_related = ("follower",)
    fields = (
        "state",
        "follower",
        "at",
        "title",
        "type",
        "about",
        "position",
        "error",
        "content",
        "resolved_at",
        "resolution",
    )
    actions_detail = ("retry", "dismiss")
    actions_row = ("retry", "dismiss")

    @display(description=_("state"), ordering="resolved_at")
    def state(self, incident: Incident) -> SafeString:
        if incident.resolved_at is None:
            return badge(gettext("open"), "danger")
        return badge(gettext("resolved"), "success")

    @display(description=_("event"), ordering="type")
    def title(self, incident: Incident) -> SafeString:
        return event_title_html(incident.type, incident.event.get("payload"))

    @display(description=_("object"), ordering="subject")
    def about(self, incident: Incident) -> SafeString | str:
        return subject_element(incident.subject, named_of(incident))

    def complete_rows(self, rows: Iterable[Incident]) -> None:
        name_rows(rows)

    @display(description=_("error"), ordering="error")
    def summary(self, incident: Incident) -> str:
        first = incident.error.partition("\n")[0]
        return first if len(first) <= 80 else f"{first[:79]}…"

    @display(description=_("event data"))
    def content(self, incident: Incident) -> SafeString:
        return as_code(incident.event)

    def has_resolve_permission(self, request: HttpRequest, object_id: str | None = None) -> bool:
        """Offer the actions to operators, as long as the incident is open."""
        if not request.user.has_perm(f"records.{permission(Scope.OPERATIONS)}"):
            return False
        incident = None if object_id is None else self.get_object(request, object_id)
        return incident is None or incident.resolved_at is None

    @action(description=_("Try again"), permissions=["resolve"], url_path="retry", icon="replay")
    def retry(self, request: HttpRequest, object_id: str) -> HttpResponse:
        incident = get_subject(self, request, object_id)
        question = Question(
            title=gettext("Process this event again?"),
            text=gettext(
                "%(follower)s gets the event now, after newer events. If it succeeds, the incident is resolved."
            )
            % {"follower": incident.follower_id},
            button=gettext("Try again"),
        )

        def act(answers: dict[str, Any]) -> str:
            retry_incident(incident_id=incident.pk, actor=actor_of(request))
            return gettext("The event has been processed; the incident is resolved.")

        return ask_then_act(self, request, incident, question=question, act=act)

    @action(description=_("Dismiss"), permissions=["resolve"], url_path="dismiss", icon="do_not_disturb_on")
    def dismiss(self, request: HttpRequest, object_id: str) -> HttpResponse:
        incident = get_subject(self, request, object_id)
        question = Question(
            title=gettext("Dismiss this incident?"),
            text=gettext("%(follower)s will never process this event.") % {"follower": incident.follower_id},
            button=gettext("Dismiss"),
            dangerous=True,
        )

        def act(answers: dict[str, Any]) -> str:
            dismiss_incident(incident_id=incident.pk, actor=actor_of(request), reason=answers["reason"])
            return gettext("The incident has been dismissed.")

        return ask_then_act(self, request, incident, question=question, act=act, form=DismissForm(request.POST or None))
