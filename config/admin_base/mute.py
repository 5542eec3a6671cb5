"""Mutes on pages: for an hour, for eight, or until a time; the badge of what is muted."""

from datetime import datetime, timedelta
from typing import Any

from django import forms
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from unfold.widgets import INPUT_CLASSES, UnfoldAdminRadioSelectWidget

from config.admin_base.times import time_element

HOURS = {"1h": 1, "8h": 8}
BROWSER_FORMAT = "%Y-%m-%dT%H:%M"
LONGEST = timedelta(days=366)


class MuteForm(forms.Form):
    """Asks for the end of a mute; `cleaned_data["muted_until"]` has it, None to end the mute now."""

    length = forms.ChoiceField(
        label=_("For how long"),
        choices=[
            ("1h", _("1 hour")),
            ("8h", _("8 hours")),
            ("until", _("until the time below")),
            ("end", _("end the mute now")),
        ],
        initial="1h",
        widget=UnfoldAdminRadioSelectWidget,
    )
    until = forms.DateTimeField(
        label=_("Until"),
        required=False,
        input_formats=[BROWSER_FORMAT],
        help_text=_("In your time zone."),
        # The browser's own field: it has a calendar, also on a phone and for the keyboard.
        widget=forms.DateTimeInput(
            format=BROWSER_FORMAT, attrs={"type": "datetime-local", "class": " ".join(INPUT_CLASSES)}
        ),
    )

    def clean(self) -> dict[str, Any]:
        values = super().clean() or self.cleaned_data
        length, until, now = values.get("length"), values.get("until"), timezone.now()
        if length == "until" and "until" not in self.errors:
            if until is None:
                self.add_error("until", gettext("Enter the date and the time."))
            elif not now < until <= now + LONGEST:
                self.add_error("until", gettext("Enter a time within the next 366 days."))
        values["muted_until"] = now + timedelta(hours=HOURS[length]) if length in HOURS else until
        if length == "end":
            values["muted_until"] = None
        return values


def is_muted(until: datetime | None) -> bool:
    return until is not None and timezone.now() < until


def muted_badge(until: datetime | None) -> SafeString:
    """Return a badge with the end of a mute; nothing where there is none, or it is over."""
    if not is_muted(until):
        return SafeString("")
    words = format_html(gettext("muted until {time}"), time=time_element(until))
    return format_html('<span class="pst-muted">{}</span>', words)
