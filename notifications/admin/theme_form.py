"""The form of a theme; the services write its values, never the form itself."""

import uuid
from dataclasses import replace
from typing import Any

from django import forms
from django.core.validators import MaxValueValidator, MinValueValidator
from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextInputWidget

from config.common.errors import Invalid
from notifications.models import Theme
from notifications.models.session import OWN_THEMES_FROM
from notifications.sending.webhook_url import LONGEST_URL
from notifications.sessions.handlers import registered_handlers
from notifications.sessions.themes import (
    LONGEST_DELAY,
    LONGEST_TIMEOUT,
    MOST_BYTES,
    MOST_REPEATS,
    ThemeValues,
    check_values,
    values_of,
)

VALUES = ("handler", "url", "delay", "jitter", "timeout", "repeat_limit", "length_limit")
BOUNDS: dict[str, tuple[float, float]] = {
    "number": (0, OWN_THEMES_FROM - 1),
    "timeout": (0.1, LONGEST_TIMEOUT),
    "repeat_limit": (1, MOST_REPEATS),
    "length_limit": (2, MOST_BYTES),
    "delay": (0, LONGEST_DELAY),
    "jitter": (0, LONGEST_DELAY),
}


class ThemeForm(forms.ModelForm):  # type: ignore[type-arg]
    handler = forms.ChoiceField(
        label=_("Handler"),
        required=False,
        choices=lambda: [("", _("none: a URL")), *((name, name) for name in registered_handlers())],
        help_text=_("A handler registered in the code; or specify a URL instead."),
        widget=UnfoldAdminSelectWidget,
    )
    url = forms.CharField(
        label=_("URL"),
        required=False,
        max_length=LONGEST_URL,
        help_text=_("URL to call instead of a handler: http or https, without a user name."),
        widget=UnfoldAdminTextInputWidget(attrs={"type": "url"}),
    )
    form_id = forms.UUIDField(initial=uuid.uuid4, widget=forms.HiddenInput, required=False)

    class Meta:
        model = Theme
        fields = ("number", *VALUES)
        error_messages = {"number": {"unique": _("A theme with this number already exists.")}}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.initial.update({name: whole(value) for name, value in self.initial.items()})
        for name, (least, most) in BOUNDS.items():
            if name in self.fields:
                self.fields[name].validators += [MinValueValidator(least), MaxValueValidator(most)]

    def clean(self) -> dict[str, Any]:
        values = super().clean() or self.cleaned_data
        if not self.errors:
            known = ThemeValues() if self.instance._state.adding else values_of(self.instance)
            try:
                check_values(replace(known, **named(values)))
            except Invalid as error:
                for name, rules in error.data["fields"].items():
                    self.add_error(name if name in self.fields else None, rules)
        return values


def named(values: dict[str, Any]) -> dict[str, Any]:
    """Return the values of a form by the names of the services; an empty handler or URL becomes None."""
    found = {name: values[name] for name in VALUES if name in values}
    return {name: value or None if name in ("handler", "url") else value for name, value in found.items()}


def whole(value: Any) -> Any:
    """Return a whole float as an integer: people enter 60 seconds, not 60.0."""
    return int(value) if isinstance(value, float) and value.is_integer() else value
