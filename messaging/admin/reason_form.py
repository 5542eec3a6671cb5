from django import forms
from django.utils.translation import gettext_lazy as _

from config.admin_base.pages import reason_field
from messaging.protocol import REASON_LENGTH


class ReasonForm(forms.Form):
    """Asks for the reason of a decision by hand; it is recorded with the name of the person."""

    reason = reason_field(
        _("What you found or did; kept in the log and in the registry changes, with your name."), longest=REASON_LENGTH
    )
