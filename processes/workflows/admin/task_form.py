"""The form of a task: the fields that its definition has, or a box for variables."""

from collections.abc import Mapping, Sequence
from datetime import date
from decimal import Decimal
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _
from unfold.widgets import (
    BASE_INPUT_CLASSES,
    UnfoldAdminDecimalFieldWidget,
    UnfoldAdminSelectWidget,
    UnfoldAdminTextInputWidget,
    UnfoldBooleanWidget,
)

from processes.workflows.admin.values import VariablesField
from processes.workflows.engine.definition import FormField

LONGEST_TEXT = 10_000
MOST_DIGITS = 18
PREFIX = "answer"
"""The fields have the names of variables: with it none takes the place of another input of the page."""


class TaskForm(forms.Form):
    """Gives `variables`."""

    def __init__(
        self, fields: Sequence[FormField], known: Mapping[str, Any], data: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(data, prefix=PREFIX)
        self._has_box = not fields
        if not fields:
            said = _('JSON, by name, like {"approved": true}. Empty: nothing changes.')
            self.fields["variables"] = VariablesField(label=_("Variables"), help_text=said)
        for field in fields:
            self.fields[field.name] = _MAKERS[field.kind](field)
            self.initial[field.name] = _initial(field, known.get(field.name))

    @property
    def variables(self) -> dict[str, Any]:
        """Return what the task gives back; what was left empty is null, a text an empty one."""
        if self._has_box:
            return dict(self.cleaned_data["variables"])
        return {name: _plain(value) for name, value in self.cleaned_data.items()}


class _NumberField(forms.DecimalField):
    def clean(self, value: Any) -> Any:
        number = super().clean(value)
        if number is None:
            return None
        return int(number) if number == number.to_integral_value() else float(number)


def _text(field: FormField) -> forms.Field:
    widget = UnfoldAdminTextInputWidget
    return forms.CharField(label=field.label, required=field.is_required, max_length=LONGEST_TEXT, widget=widget)


def _number(field: FormField) -> forms.Field:
    widget = UnfoldAdminDecimalFieldWidget
    return _NumberField(label=field.label, required=field.is_required, max_digits=MOST_DIGITS, widget=widget)


def _boolean(field: FormField) -> forms.Field:
    """No is an answer as well: a required one is always given."""
    return forms.BooleanField(label=field.label, required=False, widget=UnfoldBooleanWidget)


def _date(field: FormField) -> forms.Field:
    attributes = {"type": "date", "class": " ".join([*BASE_INPUT_CLASSES, "pst-date"])}
    widget = forms.DateInput(attrs=attributes, format="%Y-%m-%d")
    return forms.DateField(label=field.label, required=field.is_required, input_formats=["%Y-%m-%d"], widget=widget)


def _choice(field: FormField) -> forms.Field:
    choices = [("", "–"), *((each, each) for each in field.choices)]
    return forms.TypedChoiceField(
        label=field.label, required=field.is_required, choices=choices, empty_value=None, widget=UnfoldAdminSelectWidget
    )


_MAKERS = {"text": _text, "number": _number, "boolean": _boolean, "date": _date, "choice": _choice}


def _initial(field: FormField, value: Any) -> Any:
    """Begin with what is known already, where the field can hold it."""
    if field.kind == "boolean":
        return value is True
    if field.kind == "number":
        return value if isinstance(value, int | float) and not isinstance(value, bool) else None
    return value if isinstance(value, str) else None


def _plain(value: Any) -> Any:
    if isinstance(value, date):
        return value.isoformat()
    return float(value) if isinstance(value, Decimal) else value
