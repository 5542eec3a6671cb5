from datetime import timedelta
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.timesince import timesince
from django.utils.translation import gettext, ngettext, pgettext
from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextInputWidget

from config.access.scopes import Scope, permission
from config.admin_base.confirm_many import apply_to_each
from config.admin_base.pages import (
    BigTableAdmin,
    Question,
    actor_of,
    ask_then_act,
    badge,
    get_subject,
    page_of,
    trace_link,
)
from config.admin_base.theme import DropdownFilter, action, display
from config.common.text_templates import render_text
from notifications.admin.alert_page import build_alert_page
from notifications.decisions import awaits_decision
from notifications.models import Alert
from notifications.names import name_subject, page_of_subject
from notifications.services.alerts import acknowledge_alert, mute_alert, resolve_alert

COLOURS = {Alert.Status.OPEN: "danger", Alert.Status.ACKNOWLEDGED: "warning", Alert.Status.RESOLVED: "success"}


class StatusFilter(DropdownFilter):
    """By default the inbox: what is not resolved."""

    title = _("status")
    parameter_name = "status"
    all_option = ["", _("not resolved")]

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [*Alert.Status.choices, ("all", _("all"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Alert]) -> QuerySet[Alert]:
        status = self.value()
        if status == "all":
            return queryset
        if status in Alert.Status.values:
            return queryset.filter(status=status)
        return queryset.exclude(status=Alert.Status.RESOLVED)


class ResolveForm(forms.Form):
    note = forms.CharField(
        label=_("Note"),
        required=False,
        max_length=200,
        help_text=_("What was done; stays on the alert, with your name."),
        widget=UnfoldAdminTextInputWidget,
    )


class MuteForm(forms.Form):
    seconds = forms.TypedChoiceField(
        label=_("For how long"),
        coerce=int,
        choices=[
            (3600, _("an hour")),
            (8 * 3600, _("eight hours")),
            (86_400, _("a day")),
            (7 * 86_400, _("a week")),
        ],
        widget=UnfoldAdminSelectWidget,
    )


@admin.register(Alert)
class AlertAdmin(BigTableAdmin[Alert]):
    list_display = ("state", "summary", "subject", "count", "last")
    list_display_links = ("summary",)
    list_filter = (StatusFilter,)
    list_filter_submit = True
    search_fields = ("=subject", "=kind", "=correlation_id")
    search_help_text = _("Exact subject, kind or correlation id")
    fields = (
        "state",
        "headline",
        "kind",
        "about",
        "facts",
        "count",
        "first_at",
        "last_at",
        "hands",
        "chain",
    )
    actions = ("acknowledge_chosen",)
    actions_detail = ("acknowledge", "mute", "resolve")
    actions_row = ("acknowledge", "mute", "resolve")
    change_form_outer_after_template = "admin/notifications/alert/timeline.html"

    class Media:
        css = {"all": ["postern/sensors.css"]}

    def get_ordering(self, request: HttpRequest) -> tuple[str, ...]:
        """Return open alerts first; with the filter `all`, the newest first."""
        return ("-id",) if request.GET.get("status") == "all" else ("-status", "-id")

    @display(description=_("status"))
    def state(self, alert: Alert) -> SafeString:
        word = badge(alert.get_status_display(), COLOURS[Alert.Status(alert.status)])
        if alert.status == Alert.Status.RESOLVED or not is_muted(alert):
            return word
        return format_html("{} {}", word, badge(gettext("muted"), "info"))

    @display(description=_("alert"))
    def headline(self, alert: Alert) -> str:
        return alert.words

    @display(description=_("alert"))
    def summary(self, alert: Alert) -> SafeString:
        return format_html('<span class="pst-url">{}</span>', alert.words)

    @display(description=_("subject"))
    def about(self, alert: Alert) -> SafeString | str:
        """Return a link to the page of the subject, if it has one."""
        named = name_subject(alert.subject)
        if named is None or not named.page:
            return alert.subject
        link = format_html('<a class="pst-link" href="{}">{}</a>', named.page, named.text)
        if alert.status == Alert.Status.RESOLVED or not awaits_decision(alert.kind, alert.subject):
            return link
        return format_html("{} <small>{}</small>", link, gettext("decide there: that closes the alert"))

    @display(description=_("correlation id"))
    def chain(self, alert: Alert) -> SafeString | str:
        return trace_link(alert.correlation_id)

    @display(description=_("last"))
    def last(self, alert: Alert) -> SafeString:
        """Return how long ago it was raised last, on one line."""
        now = timezone.now()
        is_new = now - alert.last_at < timedelta(minutes=1)
        time = (
            gettext("just now")
            if is_new
            else gettext("%(time)s ago") % {"time": timesince(alert.last_at, now, depth=1)}
        )
        return format_html('<span class="pst-nowrap">{}</span>', time)

    @display(description=_("details"))
    def facts(self, alert: Alert) -> SafeString | str:
        rows = [(name, value) for name, value in alert.detail.items()]
        return format_html_join("", '<div><span class="pst-quiet">{}:</span> {}</div>', rows) or "–"

    @display(description=_("handled by"))
    def hands(self, alert: Alert) -> SafeString | str:
        """Return who acknowledged and resolved it, until when it is muted, or when the next rung is notified."""
        known = list[tuple[str, str, Any]]()
        if alert.acknowledged_at is not None:
            known.append((gettext("acknowledged"), alert.acknowledged_by, alert.acknowledged_at))
        if alert.resolved_at is not None:
            who = alert.resolved_by or gettext("by itself")
            words = f"{who}, {render_text(alert.resolution, {})}".strip(", ")
            known.append((pgettext("alert", "resolved"), words, alert.resolved_at))
        elif is_muted(alert):
            known.append((gettext("muted until"), "", alert.muted_until))
        elif alert.due_at is not None:
            known.append((gettext("next rung"), "", alert.due_at))
        rows = [(word, who, date_format(timezone.localtime(at), "DATETIME_FORMAT")) for word, who, at in known]
        return format_html_join("", "<div>{} {} · {}</div>", rows) or "–"

    def has_operate_permission(self, request: HttpRequest, object_id: str | None = None) -> bool:
        """Offer the actions to operators, as long as the alert is not resolved."""
        if not request.user.has_perm(f"records.{permission(Scope.OPERATIONS)}"):
            return False
        alert = None if object_id is None else self.get_object(request, object_id)
        return alert is None or alert.status != Alert.Status.RESOLVED

    def has_acknowledge_permission(self, request: HttpRequest, object_id: str | None = None) -> bool:
        alert = None if object_id is None else self.get_object(request, object_id)
        is_open = alert is None or alert.status == Alert.Status.OPEN
        return is_open and self.has_operate_permission(request, object_id)

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        alert = self.get_object(request, object_id)
        page = None if alert is None else build_alert_page(request, alert)
        return super().change_view(request, object_id, form_url, {**(extra_context or {}), "page": page})

    @admin.action(description=_("Acknowledge"), permissions=["acknowledge"])
    def acknowledge_chosen(self, request: HttpRequest, chosen: QuerySet[Alert]) -> None:
        """Acknowledge those of the chosen alerts that are still open."""
        is_open = chosen.filter(status=Alert.Status.OPEN).values_list("pk", flat=True)
        # Refused where somebody else was faster.
        done, _refused = apply_to_each(is_open, lambda pk: acknowledge_alert(pk, actor_of(request)))
        said = ngettext("%(count)d alert has been acknowledged.", "%(count)d alerts have been acknowledged.", done)
        messages.success(request, said % {"count": done})

    @action(description=_("Acknowledge"), permissions=["acknowledge"], url_path="acknowledge", icon="front_hand")
    def acknowledge(self, request: HttpRequest, object_id: str) -> HttpResponse:
        alert = get_subject(self, request, object_id)
        question = Question(
            title=gettext("Acknowledge this alert?"),
            text=gettext("You take it on: nobody else is notified of it. Repeats are still counted."),
            button=gettext("Acknowledge"),
        )

        def act(answers: dict[str, Any]) -> str:
            acknowledge_alert(alert.pk, actor_of(request))
            return gettext("You have acknowledged the alert.")

        return ask_then_act(self, request, alert, question=question, act=act)

    @action(description=_("Mute"), permissions=["operate"], url_path="mute", icon="notifications_off")
    def mute(self, request: HttpRequest, object_id: str) -> HttpResponse:
        alert = get_subject(self, request, object_id)
        question = Question(
            title=gettext("Mute this alert?"),
            text=gettext("Nobody is notified of it for that time, also when it closes and is raised again."),
            button=gettext("Mute"),
        )

        def act(answers: dict[str, Any]) -> str:
            mute_alert(alert.pk, actor_of(request), answers["seconds"])
            return gettext("The alert is muted.")

        return ask_then_act(self, request, alert, question=question, act=act, form=MuteForm(request.POST or None))

    @action(description=_("Resolve"), permissions=["operate"], url_path="resolve", icon="task_alt")
    def resolve(self, request: HttpRequest, object_id: str) -> HttpResponse:
        alert = get_subject(self, request, object_id)
        if alert.status != Alert.Status.RESOLVED and awaits_decision(alert.kind, alert.subject):
            return self._lead_to_decision(request, alert)
        question = Question(
            title=gettext("Resolve this alert?"),
            text=gettext("It leaves the inbox. If its cause occurs again, a new alert is raised."),
            button=gettext("Resolve"),
        )

        def act(answers: dict[str, Any]) -> str:
            resolve_alert(alert.pk, actor_of(request), answers["note"])
            return gettext("The alert is resolved.")

        form = ResolveForm(request.POST if request.method == "POST" else None)
        return ask_then_act(self, request, alert, question=question, act=act, form=form)

    def _lead_to_decision(self, request: HttpRequest, alert: Alert) -> HttpResponse:
        """Refuse to close an alert that stands for a decision, and link to the page of the decision."""
        words = gettext("This alert stands for a decision and is closed by it alone.")
        page = page_of_subject(alert.subject)
        link = format_html('<a class="pst-link" href="{}">{}</a>', page, gettext("Decide")) if page else ""
        messages.error(request, format_html("{} {}", words, link))
        return HttpResponseRedirect(page_of(self, alert))


def is_muted(alert: Alert) -> bool:
    return alert.muted_until is not None and timezone.now() < alert.muted_until
