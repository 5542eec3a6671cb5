"""Forms of actions on sessions: by how much to shift, and which sessions a dialog is about."""

from datetime import timedelta
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldAdminIntegerFieldWidget, UnfoldAdminSelectWidget

from config.admin_base.pages import OnceForm
from notifications.sessions.operator_actions import MOST_AT_ONCE

LONGEST_SHIFT = timedelta(days=366)


class ShiftForm(OnceForm):
    direction = forms.TypedChoiceField(
        label=_("Direction"),
        coerce=int,
        choices=[(1, _("later")), (-1, _("earlier"))],
        widget=UnfoldAdminSelectWidget,
    )
    amount = forms.IntegerField(
        label=_("By how much"), min_value=1, max_value=100_000, widget=UnfoldAdminIntegerFieldWidget
    )
    unit = forms.TypedChoiceField(
        label=_("Unit"),
        coerce=int,
        choices=[(1, _("seconds")), (60, _("minutes")), (3600, _("hours")), (86_400, _("days"))],
        initial=60,
        widget=UnfoldAdminSelectWidget,
    )

    def clean(self) -> dict[str, Any]:
        values = super().clean() or self.cleaned_data
        if not self.errors:
            values["seconds"] = values["direction"] * values["amount"] * values["unit"]
            if abs(values["seconds"]) > LONGEST_SHIFT.total_seconds():
                self.add_error("amount", gettext("At most a year."))
        return values


class _Numbers(forms.CharField):
    """The sessions that a dialog has counted: the action is about them, whatever the list shows by then."""

    widget = forms.HiddenInput

    def clean(self, value: Any) -> list[int]:
        numbers = super().clean(value).split(",")
        if len(numbers) > MOST_AT_ONCE or not all(each.isascii() and each.isdigit() for each in numbers):
            raise ValidationError(gettext("This is not a list of sessions."))
        return [number for number in map(int, numbers) if number < 2**63]


class ManyForm(forms.Form):
    keys = _Numbers()


class ShiftManyForm(ManyForm, ShiftForm):
    field_order = ["direction", "amount", "unit"]
