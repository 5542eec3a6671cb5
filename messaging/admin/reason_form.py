from django import forms
from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldAdminTextInputWidget

from messaging.protocol import REASON_LENGTH


class ReasonForm(forms.Form):
    """Asks why: what a person decides by hand must say so to whoever reads it later."""

    reason = forms.CharField(
        label=_("Reason"),
        max_length=REASON_LENGTH,
        help_text=_("What you found or did; stays in the log and in the change log, with your name."),
        widget=UnfoldAdminTextInputWidget,
    )
