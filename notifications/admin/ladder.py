"""The ladder of alerts: who is notified, by which channel and when. The change log keeps each change."""

from typing import Any

from django import forms
from django.conf import settings
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldAdminTextareaWidget

from config.admin_base.pages import actor_of, badge
from config.admin_base.theme import ModelAdmin, display
from notifications.models import Rung
from notifications.services.ladder import FIELDS, delete_rung, find_rung_faults, save_rung, split_addresses


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
class RungAdmin(ModelAdmin[Rung]):
    list_display = ("when", "channel", "whom", "activity")
    form = RungForm
    fields = FIELDS
    sortable_by = ()

    @display(description=_("when"))
    def when(self, rung: Rung) -> str:
        return describe_delay(rung.after_seconds)

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

    @display(description=_("state"))
    def activity(self, rung: Rung) -> SafeString:
        return badge(gettext("active"), "success") if rung.active else badge(gettext("inactive"), "default")

    def save_model(self, request: HttpRequest, obj: Rung, form: Any, change: bool) -> None:
        save_rung(obj, actor=actor_of(request))

    def delete_model(self, request: HttpRequest, obj: Rung) -> None:
        delete_rung(obj, actor=actor_of(request))

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Rung]) -> None:
        for rung in queryset:
            delete_rung(rung, actor=actor_of(request))


def describe_delay(seconds: int) -> str:
    """Return when a rung is notified, in words."""
    if seconds == 0:
        return gettext("at once")
    if seconds % 60:
        return ngettext("after %(count)d second", "after %(count)d seconds", seconds) % {"count": seconds}
    minutes = seconds // 60
    return ngettext("after %(count)d minute", "after %(count)d minutes", minutes) % {"count": minutes}
