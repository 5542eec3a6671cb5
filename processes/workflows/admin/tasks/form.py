"""The form of a task: the fields of its definition, or one field for variables as JSON."""

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from unfold.widgets import (
    BASE_INPUT_CLASSES,
    UnfoldAdminCheckboxSelectMultipleWidget,
    UnfoldAdminDecimalFieldWidget,
    UnfoldAdminSelectWidget,
    UnfoldAdminTextareaWidget,
    UnfoldAdminTextInputWidget,
    UnfoldBooleanWidget,
)

from processes.workflows.admin.values import VariablesField
from processes.workflows.engine.definition import FormField, TextValue
from processes.workflows.engine.dmn.inputs import list_read_names
from processes.workflows.engine.expressions import ExpressionFailed
from processes.workflows.engine.feel import FeelFailed, Run
from processes.workflows.engine.feel.conversion import JsonNames
from processes.workflows.engine.patterns import MAX_MATCHED, Pattern

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
            help_text = _('Variables as JSON, for example {"approved": true} (optional)')
            self.fields["variables"] = VariablesField(label=_("Variables"), help_text=help_text)
        self._known = known
        self._conditional: list[tuple[FormField, bool]] = []
        own = {field.name for field in fields}
        for field in fields:
            # What another field decides is asked for, and left out of the answer if that says so.
            is_decided_here = not own.isdisjoint(list_read_names(field.hidden_by))
            if is_decided_here or not _is_hidden(field, known):
                self.fields[field.name] = _build_field(field)
                self.initial[field.name] = _initial(field, known)
            if is_decided_here:
                self._conditional.append((field, self.fields[field.name].required))
                self.fields[field.name].required = False  # the browser cannot tell whether it is

    def clean(self) -> dict[str, Any]:
        """Leave out what the other answers hide: it is neither required nor sent."""
        answers = {name: _to_json(value) for name, value in self.cleaned_data.items()}
        for field, is_required in self._conditional:
            if _is_hidden(field, {**self._known, **answers}):
                self.errors.pop(field.name, None)
                self.cleaned_data.pop(field.name, None)
            elif is_required and field.name in answers and answers[field.name] in (None, "", []):
                self.add_error(field.name, gettext("This field is required."))
        return self.cleaned_data

    @property
    def variables(self) -> dict[str, Any]:
        """Return the variables that complete the task; a field left empty is null, a text field empty text."""
        if self._is_json:
            return dict(self.cleaned_data["variables"])
        return {name: _to_json(value) for name, value in self.cleaned_data.items() if not self.fields[name].disabled}


def _to_json(value: Any) -> Any:
    return value.isoformat() if isinstance(value, date | time) else value


def _is_hidden(field: FormField, variables: Mapping[str, Any]) -> bool:
    """Return whether the condition of a field hides it; one that cannot be evaluated hides nothing."""
    if field.hidden_by is None:
        return False
    run = Run(timezone.now())
    try:
        return field.hidden_by.evaluate(JsonNames(variables, run.meter), run) is True
    except FeelFailed:
        return False


class _NoteWidget(forms.Widget):
    """A text of the form, which asks for nothing."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text

    def render(self, name: str, value: Any, attrs: Any = None, renderer: Any = None) -> SafeString:
        return format_html("<p>{}</p>", self.text)


class _NumberField(forms.DecimalField):
    def clean(self, value: Any) -> Any:
        number = super().clean(value)
        if number is None:
            return None
        return int(number) if number == number.to_integral_value() else float(number)


def _build_field(field: FormField) -> forms.Field:
    """Return the control of a field, with its rules: the browser checks them first, the server again."""
    # What may not be changed is shown and never read back, whatever is sent.
    common: dict[str, Any] = {
        "label": field.label,
        "required": field.is_required and not field.is_read_only,
        "disabled": field.is_read_only,
        "help_text": field.hint,
    }
    if field.kind == "number":
        limits: dict[str, Any] = {"min_value": _decimal(field.minimum), "max_value": _decimal(field.maximum)}
        limits |= {"decimal_places": 0} if field.is_whole else {}
        widget = UnfoldAdminDecimalFieldWidget(attrs={} if field.is_whole else {"step": "any"})
        return _NumberField(**common, **limits, max_digits=MOST_DIGITS, widget=widget)
    if field.kind == "boolean":
        # Never required: an unticked box is an answer too.
        return forms.BooleanField(
            label=field.label, required=False, disabled=field.is_read_only, widget=UnfoldBooleanWidget
        )
    if field.kind == "date":
        attributes = {"type": "date", "class": " ".join([*BASE_INPUT_CLASSES, "pst-date"])}
        date_widget = forms.DateInput(attrs=attributes, format="%Y-%m-%d")
        return forms.DateField(**common, input_formats=["%Y-%m-%d"], widget=date_widget)
    if field.kind in ("datetime", "time"):
        return _build_time(field, common)
    labels = list(zip(field.choices, field.choice_labels or field.choices, strict=True))
    if field.kind == "choices":
        return forms.MultipleChoiceField(**common, choices=labels, widget=UnfoldAdminCheckboxSelectMultipleWidget)
    if field.kind == "choice":
        choices = [("", "–"), *labels]
        return forms.TypedChoiceField(**common, choices=choices, empty_value=None, widget=UnfoldAdminSelectWidget)
    if field.kind == "note":
        return forms.Field(label="", required=False, disabled=True, widget=_NoteWidget(field.label))
    text = UnfoldAdminTextareaWidget if field.is_long else UnfoldAdminTextInputWidget
    longest = min(field.max_length or LONGEST_TEXT, LONGEST_TEXT)
    if field.pattern is None:
        return forms.CharField(**common, max_length=longest, min_length=field.min_length, widget=text)
    return forms.CharField(
        **common,
        max_length=min(longest, MAX_MATCHED),
        min_length=field.min_length,
        widget=text(attrs={"pattern": field.pattern.text}),
        validators=[_check_pattern(field.pattern)],
    )


def _check_pattern(pattern: Pattern) -> Callable[[str], None]:
    def check(value: str) -> None:
        if not pattern.matches_whole(value):
            raise ValidationError(gettext("Must match the pattern %(pattern)s.") % {"pattern": pattern.text})

    return check


def _build_time(field: FormField, common: dict[str, Any]) -> forms.Field:
    """Return the control of a time, or of a day with a time, in the time zone of the server."""
    css = " ".join([*BASE_INPUT_CLASSES, "pst-date"])
    if field.kind == "time":
        widget = forms.TimeInput(attrs={"type": "time", "class": css}, format="%H:%M")
        return forms.TimeField(**common, input_formats=["%H:%M", "%H:%M:%S"], widget=widget)
    moment = forms.DateTimeInput(attrs={"type": "datetime-local", "class": css}, format="%Y-%m-%dT%H:%M")
    return forms.DateTimeField(**common, input_formats=["%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S"], widget=moment)


def _decimal(bound: float | None) -> Decimal | None:
    return None if bound is None else Decimal(repr(bound)).normalize() if bound % 1 else Decimal(int(bound))


def _initial(field: FormField, known: Mapping[str, Any]) -> Any:
    """Return the present value of the variable, else the default of the form, where the field can hold it."""
    value = known.get(field.name)
    if value is None and field.default is not None:
        value = _evaluate_default(field.default, known)
    if field.kind == "boolean":
        return value is True or value == "true"
    if field.kind == "number":
        if isinstance(value, str):
            value = float(value) if _NUMBER.fullmatch(value) else None
        return value if isinstance(value, int | float) and not isinstance(value, bool) else None
    if field.kind == "date":
        return value[:10] if isinstance(value, str) else None
    if field.kind in ("datetime", "time"):
        return _read_time(value, time if field.kind == "time" else datetime)
    if field.kind == "choices":
        return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []
    return value if isinstance(value, str) else None


def _read_time(value: Any, kind: type[time] | type[datetime]) -> time | datetime | None:
    try:
        found = kind.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None
    is_naive = isinstance(found, datetime) and timezone.is_naive(found)
    return timezone.make_aware(found) if isinstance(found, datetime) and is_naive else found


_NUMBER = re.compile(r"-?\d{1,15}(?:\.\d{1,15})?", re.ASCII)


def _evaluate_default(default: TextValue, known: Mapping[str, Any]) -> Any:
    try:
        if default.expression is not None:
            return default.expression.evaluate(known)
        parts = (part if isinstance(part, str) else part.evaluate(known) for part in default.parts)
        return "".join(str(part) for part in parts)
    except ExpressionFailed:
        return None  # a default is a convenience: without it the field is empty
