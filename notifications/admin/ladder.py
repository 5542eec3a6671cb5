"""The ladder of alerts: who is notified, by which channel and when. The change log keeps each change."""

from typing import Any

from django import forms
from django.conf import settings
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.safestring import SafeString
from django.utils.text import capfirst
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldAdminTextareaWidget

from config.access.scopes import Scope, permission
from config.admin_base.lists import ListAdmin
from config.admin_base.pages import Question, actor_of, badge
from config.admin_base.theme import action, display
from notifications.models import Rung
from notifications.recipients import find_recipients, split_addresses
from notifications.services.alerts import raise_test_alert
from notifications.services.ladder import FIELDS, delete_rung, find_rung_faults, save_rung


class RungForm(forms.ModelForm):  # type: ignore[type-arg]
    class Meta:
        model = Rung
        fields = FIELDS
        widgets = {"addresses": UnfoldAdminTextareaWidget(attrs={"rows": 3})}

    def clean(self) -> dict[str, Any]:
        values = super().clean() or self.cleaned_data
        if all(name in values for name in FIELDS):
            faults = find_rung_faults(Rung(**{name: values[name] for name in FIELDS}))
            for name, rules in faults.items():
                self.add_error(name, rules)
        return values


@admin.register(Rung)
class RungAdmin(ListAdmin[Rung]):
    list_display = ("when", "channel", "whom", "activity")
    list_before_template = "admin/notifications/alert_reach.html"
    actions_list = ("test_alert",)
    form = RungForm
    fields = FIELDS
    empty_text = _("No one is notified of alerts: add a step that names people and how to reach them.")

    @display(description=_("when"), ordering="after_seconds")
    def when(self, rung: Rung) -> str:
        return rung.delay_words

    @display(description=_("recipients"))
    def whom(self, rung: Rung) -> str:
        named = list[str]()
        if rung.to_superusers:
            named.append(gettext("every active superuser with an e-mail address"))
        if rung.to_administrator:
            is_mail = rung.channel == Rung.Channel.EMAIL
            address = (settings.ADMIN_EMAIL if is_mail else settings.ADMIN_PHONE) or gettext("not set")
            variable = "ADMIN_EMAIL" if is_mail else "ADMIN_PHONE"
            named.append(f"{variable} ({address})")
        return ", ".join([*named, *split_addresses(rung.addresses)])

    @display(description=_("state"), ordering="active")
    def activity(self, rung: Rung) -> SafeString:
        return badge(gettext("active"), "success") if rung.active else badge(gettext("inactive"), "default")

    def has_test_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm(f"records.{permission(Scope.OPERATIONS)}") and self.has_view_permission(request)

    @action(description=_("Test alert"), permissions=["test"], url_path="test-alert", icon="campaign")
    def test_alert(self, request: HttpRequest) -> HttpResponse:
        """Ask, then raise an alert that goes the way of any other; lead to its page."""
        back = reverse("admin:notifications_rung_changelist")
        if request.method == "POST":
            alert_id, is_new = raise_test_alert(actor_of(request))
            words = gettext("The test alert is being sent. Its page shows who has been notified; resolve it there.")
            again = gettext("The previous test alert is still open; no new one was sent.")
            (messages.success if is_new else messages.warning)(request, words if is_new else again)
            return HttpResponseRedirect(reverse("admin:notifications_alert_change", args=[alert_id]))
        question = Question(
            title=gettext("Send a test alert?"),
            text=gettext("It is sent like a real one, step by step, until someone acknowledges or resolves it."),
            button=gettext("Send"),
            details=_describe_rungs(),
        )
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": question.title,
            "question": question,
            "back": back,
        }
        return TemplateResponse(request, "admin_base/question.html", context)

    def save_model(self, request: HttpRequest, obj: Rung, form: Any, change: bool) -> None:
        save_rung(obj, actor=actor_of(request))

    def delete_model(self, request: HttpRequest, obj: Rung) -> None:
        delete_rung(obj, actor=actor_of(request))

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Rung]) -> None:
        for rung in queryset:
            delete_rung(rung, actor=actor_of(request))


def _describe_rungs() -> list[tuple[str, str]]:
    """Return when each active rung is notified, and who that is now."""
    rungs = Rung.objects.filter(active=True).order_by("after_seconds", "id")
    return [
        (
            f"{capfirst(rung.delay_words)} · {rung.get_channel_display()}",
            ", ".join(find_recipients(rung)) or gettext("nobody"),
        )
        for rung in rungs
    ] or [(gettext("Nobody"), gettext("The escalation has no active step."))]
