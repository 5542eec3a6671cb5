from django import forms
from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldAdminTextInputWidget

from messaging.protocol import REASON_LENGTH


class ReasonForm(forms.Form):
    """Asks for the reason of a decision by hand; it is recorded with the name of the person."""

    reason = forms.CharField(
        label=_("Reason"),
        max_length=REASON_LENGTH,
        help_text=_("What you found or did; stays in the log and in the change log, with your name."),
        widget=UnfoldAdminTextInputWidget,
    )
