from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext, ngettext, ngettext_lazy, pgettext
from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldAdminTextInputWidget

from config.access.scopes import Scope, permission
from config.admin_base.confirm_many import ManyAction, Report, Tally, apply_to_each, confirm_many
from config.admin_base.mute import MuteForm, is_muted, muted_badge
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
from config.admin_base.times import ago_element, time_element
from config.common.actors import say_actor
from config.common.text_templates import render_text
from notifications.admin.alert_page import build_alert_page
from notifications.admin.presentation import name_rows, named_of, severity_element, subject_element
from notifications.alert_kinds import Severity, say_kind
from notifications.decisions import awaits_decision
from notifications.models import Alert
from notifications.names import SEPARATOR, page_of_subject
from notifications.presentation import say_details
from notifications.services.alerts import acknowledge_alert, mute_alert, resolve_alert

MOST_AT_ONCE = 1000
COUNTED = ngettext_lazy("%(number)s alert:", "%(number)s alerts:", "count")
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


class SeverityFilter(DropdownFilter):
    title = _("severity")
    parameter_name = "severity"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [(str(value), label) for value, label in Severity.choices]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Alert]) -> QuerySet[Alert]:
        severities = {str(severity.value): severity for severity in Severity}
        chosen = severities.get(self.value() or "")
        return queryset if chosen is None else queryset.filter(severity=chosen)


class ResolveForm(forms.Form):
    note = forms.CharField(
        label=_("Note"),
        required=False,
        max_length=200,
        help_text=_("What was done; kept with the alert, with your name."),
        widget=UnfoldAdminTextInputWidget,
    )


class AlertMuteForm(MuteForm):
    """A mute of an alert ends by its time alone."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        length = self.fields["length"]
        assert isinstance(length, forms.ChoiceField)
        length.choices = [("1h", _("1 hour")), ("8h", _("8 hours")), ("until", _("until the time below"))]


@admin.register(Alert)
class AlertAdmin(BigTableAdmin[Alert]):
    list_display = ("severity_mark", "summary", "state", "subject_link", "count", "first", "last")
    list_display_links = ("summary",)
    list_filter = (StatusFilter, SeverityFilter)
    empty_text = _("Nothing needs attention.")
    search_fields = ("=subject", "=kind", "=correlation_id")
    search_help_text = _("Exact object, kind or correlation id")
    fields = (
        "severity_mark",
        "state",
        "headline",
        "kind_words",
        "about",
        "facts",
        "count",
        "first_at",
        "last_at",
        "hands",
        "chain",
    )
    actions = ("acknowledge_chosen", "mute_chosen")
    actions_detail = ("acknowledge", "mute", "resolve")
    actions_row = ("acknowledge", "mute", "resolve")
    list_before_template = "admin/notifications/alert_reach.html"
    change_form_outer_after_template = "admin/notifications/alert/timeline.html"

    class Media:
        css = {"all": ["postern/sensors.css"]}

    def get_ordering(self, request: HttpRequest) -> tuple[str, ...]:
        """Return open alerts first, the most severe before the others and of these the oldest; what is over by age."""
        is_over = request.GET.get("status") in ("all", Alert.Status.RESOLVED)
        return ("-id",) if is_over else ("-status", "severity", "id")

    @display(description=_("severity"), ordering="severity")
    def severity_mark(self, alert: Alert) -> SafeString:
        return severity_element(Severity(alert.severity))

    @display(description=_("kind"))
    def kind_words(self, alert: Alert) -> SafeString:
        return format_html('<span title="{}">{}</span>', alert.kind, say_kind(alert.kind))

    @display(description=_("status"), ordering="status")
    def state(self, alert: Alert) -> SafeString:
        word = badge(alert.get_status_display(), COLOURS[Alert.Status(alert.status)])
        if alert.status == Alert.Status.RESOLVED:
            return word
        return format_html("{} {}", word, muted_badge(alert.muted_until))

    @display(description=_("alert"))
    def headline(self, alert: Alert) -> str:
        return alert.words

    @display(description=_("alert"), ordering="kind")
    def summary(self, alert: Alert) -> SafeString:
        return format_html('<span class="pst-url">{}</span>', alert.words)

    @display(description=_("object"), ordering="subject")
    def subject_link(self, alert: Alert) -> SafeString | str:
        return subject_element(alert.subject, named_of(alert))

    @display(description=_("object"))
    def about(self, alert: Alert) -> SafeString | str:
        """Return a link to the page of the subject, if it has one."""
        link = subject_element(alert.subject, named_of(alert))
        if alert.status == Alert.Status.RESOLVED or not awaits_decision(alert.kind, alert.subject):
            return link
        return format_html("{} <small>{}</small>", link, gettext("decide there: that closes the alert"))

    @display(description=_("correlation id"))
    def chain(self, alert: Alert) -> SafeString | str:
        return trace_link(alert.correlation_id)

    @display(description=_("first raised"), ordering="first_at")
    def first(self, alert: Alert) -> SafeString:
        return ago_element(alert.first_at)

    @display(description=_("last raised"), ordering="last_at")
    def last(self, alert: Alert) -> SafeString:
        return ago_element(alert.last_at)

    @display(description=_("details"))
    def facts(self, alert: Alert) -> SafeString | str:
        rows = say_details(alert.detail).items()
        return format_html_join("", '<div><span class="pst-quiet">{}:</span> {}</div>', rows) or "–"

    @display(description=_("assigned to"))
    def hands(self, alert: Alert) -> SafeString | str:
        """Return who acknowledged and resolved it, until when it is muted, or when the next rung is notified."""
        known = list[tuple[str, str, Any]]()
        if alert.acknowledged_at is not None:
            known.append((gettext("acknowledged"), say_actor(alert.acknowledged_by), alert.acknowledged_at))
        if alert.resolved_at is not None:
            who = say_actor(alert.resolved_by) if alert.resolved_by else gettext("automatically")
            words = f"{who}, {render_text(alert.resolution, {})}".strip(", ")
            known.append((pgettext("alert", "resolved"), words, alert.resolved_at))
        elif is_muted(alert.muted_until):
            known.append((gettext("muted until"), "", alert.muted_until))
        elif alert.due_at is not None:
            known.append((gettext("nobody yet, next escalation"), "", alert.due_at))
        rows = [(f"{who}, {word}" if who else word, time_element(at)) for word, who, at in known]
        return format_html_join("", "<div>{} · {}</div>", rows) or "–"

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

    def complete_rows(self, rows: Iterable[Alert]) -> None:
        name_rows(rows)

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        alert = self.get_object(request, object_id)
        page = None if alert is None else build_alert_page(request, alert)
        return super().change_view(request, object_id, form_url, {**(extra_context or {}), "page": page})

    @admin.action(description=_("Acknowledge"), permissions=["acknowledge"])
    def acknowledge_chosen(self, request: HttpRequest, chosen: QuerySet[Alert]) -> HttpResponse | None:
        question = Question(
            title=gettext("Acknowledge these alerts?"),
            text=gettext(
                "You take them on: no one else is notified of them. Those that are no longer open are skipped."
            ),
            button=gettext("Acknowledge"),
        )

        def act(keys: Sequence[int], answers: dict[str, Any]) -> Tally:
            return Tally(*apply_to_each(keys, lambda pk: acknowledge_alert(pk, actor_of(request))))

        def describe(tally: Tally) -> Report:
            done = tally.done
            said = ngettext("%(count)d alert acknowledged.", "%(count)d alerts acknowledged.", done)
            return _report(said % {"count": done}, tally)

        return confirm_many(
            self, request, chosen, ManyAction(question, act, describe, COUNTED, MOST_AT_ONCE, shown_as=_say_each)
        )

    @admin.action(description=_("Mute"), permissions=["operate"])
    def mute_chosen(self, request: HttpRequest, chosen: QuerySet[Alert]) -> HttpResponse | None:
        question = Question(
            title=gettext("Mute these alerts?"),
            text=gettext(
                "No one is notified of them until then, even if they close and are raised again. Resolved ones are "
                "skipped."
            ),
            button=gettext("Mute"),
        )

        def act(keys: Sequence[int], answers: dict[str, Any]) -> Tally:
            seconds = _seconds_until(answers["muted_until"])
            return Tally(*apply_to_each(keys, lambda pk: mute_alert(pk, actor_of(request), seconds)))

        def describe(tally: Tally) -> Report:
            said = ngettext("%(count)d alert is muted.", "%(count)d alerts are muted.", tally.done)
            return _report(said % {"count": tally.done}, tally)

        many = ManyAction(question, act, describe, COUNTED, MOST_AT_ONCE, form=AlertMuteForm, shown_as=_say_each)
        return confirm_many(self, request, chosen, many)

    @action(description=_("Acknowledge"), permissions=["acknowledge"], url_path="acknowledge", icon="front_hand")
    def acknowledge(self, request: HttpRequest, object_id: str) -> HttpResponse:
        alert = get_subject(self, request, object_id)
        question = Question(
            title=gettext("Acknowledge this alert?"),
            text=gettext("You take it on: nobody else is notified. Repeats are still counted."),
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
            text=gettext("Nobody is notified during that time, even if the alert closes and is raised again."),
            button=gettext("Mute"),
        )

        def act(answers: dict[str, Any]) -> str:
            mute_alert(alert.pk, actor_of(request), _seconds_until(answers["muted_until"]))
            return gettext("The alert is muted.")

        form = AlertMuteForm(request.POST if request.method == "POST" else None)
        return ask_then_act(self, request, alert, question=question, act=act, form=form)

    @action(description=_("Resolve"), permissions=["operate"], url_path="resolve", icon="task_alt")
    def resolve(self, request: HttpRequest, object_id: str) -> HttpResponse:
        alert = get_subject(self, request, object_id)
        if alert.status != Alert.Status.RESOLVED and awaits_decision(alert.kind, alert.subject):
            return self._lead_to_decision(request, alert)
        question = Question(
            title=gettext("Resolve this alert?"),
            text=gettext("It leaves the list of open alerts. If the cause occurs again, a new alert is raised."),
            button=gettext("Resolve"),
        )

        def act(answers: dict[str, Any]) -> str:
            resolve_alert(alert.pk, actor_of(request), answers["note"])
            return gettext("The alert is resolved.")

        form = ResolveForm(request.POST if request.method == "POST" else None)
        return ask_then_act(self, request, alert, question=question, act=act, form=form)

    def _lead_to_decision(self, request: HttpRequest, alert: Alert) -> HttpResponse:
        """Refuse to close an alert that stands for a decision, and link to the page of the decision."""
        words = gettext("This alert needs a decision and is closed only by it.")
        page = page_of_subject(alert.subject)
        link = format_html('<a class="pst-link" href="{}">{}</a>', page, gettext("Decide")) if page else ""
        messages.error(request, format_html("{} {}", words, link))
        return HttpResponseRedirect(page_of(self, alert))


def _say_each(rows: QuerySet[Alert]) -> list[str]:
    """Return what each alert says, and the name of what it is about where the words do not have it."""
    found = list(rows)
    name_rows(found)
    named = [(alert.words, named_of(alert)) for alert in found]
    return [words if name is None or name.text in words else f"{words}{SEPARATOR}{name.text}" for words, name in named]


def _seconds_until(time: datetime) -> int:
    return max(1, round((time - timezone.now()).total_seconds()))


def _report(said: str, tally: Tally) -> Report:
    if not tally.left_out:
        return Report(said)
    words = ngettext("%(count)d skipped.", "%(count)d skipped.", tally.left_out)
    return Report(said, words % {"count": tally.left_out})
