"""Followers of the events, and the incidents: events that a follower could not take."""

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
from notifications.models import Follower, Incident, Sequencer
from notifications.services.incidents import dismiss_incident, retry_incident


@admin.register(Follower)
class FollowerAdmin(ReadOnlyAdmin[Follower]):
    list_display = ("name", "state", "lag", "position", "failures", "last_error")
    sortable_by = ()
    fields = ("name", "state", "lag", "position", "failures", "last_error", "due_at")

    @display(description=_("state"))
    def state(self, follower: Follower) -> SafeString:
        if follower.failures:
            return badge(gettext("failing"), "danger")
        return badge(gettext("reading"), "info") if self.lag(follower) else badge(gettext("up to date"), "success")

    @display(description=_("events behind"))
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
    reason = reason_field(_("Stays on the incident, with your name."))


@admin.register(Incident)
class IncidentAdmin(BigTableAdmin[Incident]):
    list_display = ("at", "state", "follower", "type", "subject", "summary")
    list_filter = (StateFilter,)
    list_filter_submit = True
    list_select_related = ("follower",)
    fields = ("state", "follower", "at", "type", "subject", "position", "error", "content", "resolved_at", "resolution")
    actions_detail = ("retry", "dismiss")
    actions_row = ("retry", "dismiss")

    @display(description=_("state"))
    def state(self, incident: Incident) -> SafeString:
        if incident.resolved_at is None:
            return badge(gettext("open"), "danger")
        return badge(gettext("resolved"), "success")

    @display(description=_("error"))
    def summary(self, incident: Incident) -> str:
        first = incident.error.partition("\n")[0]
        return first if len(first) <= 80 else f"{first[:79]}…"

    @display(description=_("event"))
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
            title=gettext("Hand over this event once more?"),
            text=gettext("%(follower)s gets the event now, after events that are newer. Success resolves the incident.")
            % {"follower": incident.follower_id},
            button=gettext("Try again"),
        )

        def act(answers: dict[str, Any]) -> str:
            retry_incident(incident_id=incident.pk, actor=actor_of(request))
            return gettext("The follower has taken the event; the incident is resolved.")

        return ask_then_act(self, request, incident, question=question, act=act)

    @action(description=_("Dismiss"), permissions=["resolve"], url_path="dismiss", icon="do_not_disturb_on")
    def dismiss(self, request: HttpRequest, object_id: str) -> HttpResponse:
        incident = get_subject(self, request, object_id)
        question = Question(
            title=gettext("Dismiss this incident?"),
            text=gettext("%(follower)s will never take this event.") % {"follower": incident.follower_id},
            button=gettext("Dismiss"),
            dangerous=True,
        )

        def act(answers: dict[str, Any]) -> str:
            dismiss_incident(incident_id=incident.pk, actor=actor_of(request), reason=answers["reason"])
            return gettext("The incident has been dismissed.")

        return ask_then_act(self, request, incident, question=question, act=act, form=DismissForm(request.POST or None))
