"""The form of a task: the fields of its definition, or one field for variables as JSON."""

from collections.abc import Mapping, Sequence
from datetime import date
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
"""Form fields are named after variables: the prefix keeps them apart from the other inputs of the page."""


class TaskForm(forms.Form):
    """A form whose `variables` complete the task."""

    def __init__(
        self, fields: Sequence[FormField], known: Mapping[str, Any], data: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(data, prefix=PREFIX)
        self._is_json = not fields
        if not fields:
            help_text = _('JSON, by name, like {"approved": true}. Empty: nothing changes.')
            self.fields["variables"] = VariablesField(label=_("Variables"), help_text=help_text)
        for field in fields:
            self.fields[field.name] = _build_field(field)
            self.initial[field.name] = _initial(field, known.get(field.name))

    @property
    def variables(self) -> dict[str, Any]:
        """Return the variables that complete the task; a field left empty is null, a text field empty text."""
        if self._is_json:
            return dict(self.cleaned_data["variables"])
        return {
            name: value.isoformat() if isinstance(value, date) else value for name, value in self.cleaned_data.items()
        }


class _NumberField(forms.DecimalField):
    def clean(self, value: Any) -> Any:
        number = super().clean(value)
        if number is None:
            return None
        return int(number) if number == number.to_integral_value() else float(number)


def _build_field(field: FormField) -> forms.Field:
    common: dict[str, Any] = {"label": field.label, "required": field.is_required}
    if field.kind == "number":
        return _NumberField(**common, max_digits=MOST_DIGITS, widget=UnfoldAdminDecimalFieldWidget)
    if field.kind == "boolean":
        # Never required: an unticked box is an answer too.
        return forms.BooleanField(label=field.label, required=False, widget=UnfoldBooleanWidget)
    if field.kind == "date":
        attributes = {"type": "date", "class": " ".join([*BASE_INPUT_CLASSES, "pst-date"])}
        widget = forms.DateInput(attrs=attributes, format="%Y-%m-%d")
        return forms.DateField(**common, input_formats=["%Y-%m-%d"], widget=widget)
    if field.kind == "choice":
        choices = [("", "–"), *((each, each) for each in field.choices)]
        return forms.TypedChoiceField(**common, choices=choices, empty_value=None, widget=UnfoldAdminSelectWidget)
    return forms.CharField(**common, max_length=LONGEST_TEXT, widget=UnfoldAdminTextInputWidget)


def _initial(field: FormField, value: Any) -> Any:
    """Return the present value of the variable, where the field can hold it."""
    if field.kind == "boolean":
        return value is True
    if field.kind == "number":
        return value if isinstance(value, int | float) and not isinstance(value, bool) else None
    return value if isinstance(value, str) else None
