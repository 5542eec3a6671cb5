"""The forms of the pages. A form that acts on an instance carries the version that it was shown at."""

import uuid
from collections.abc import Mapping
from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.admin.widgets import AutocompleteSelect
from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldAdminFileFieldWidget, UnfoldAdminTextInputWidget

from config.admin_base.pages import reason_field
from messaging.models import Enterprise
from processes.workflows.admin.values import VariablesField
from processes.workflows.models import WorkflowDefinition
from processes.workflows.services.start import LONGEST_RECORD

LARGEST_NUMBER = 2**31 - 1
LONGEST_REASON = 180
"""With the number of the version it fits into the cause of the new version, which has 200 characters."""


class UploadForm(forms.Form):
    file = forms.FileField(
        label=_("File"),
        help_text=_(
            "BPMN 2.0 or CMMN 1.1 as your modeler saves it, up to 1 MB. Its process, which must be executable, or its "
            "case needs an id."
        ),
        widget=UnfoldAdminFileFieldWidget(attrs={"accept": ".bpmn,.cmmn,.xml"}),
    )
    enterprise = forms.ModelChoiceField(
        Enterprise.objects.filter(active=True),
        label=_("Enterprise"),
        required=False,
        help_text=_("The owner: its messages reach only the owner's devices and databases. Empty: shared by all."),
        widget=AutocompleteSelect(WorkflowDefinition._meta.get_field("enterprise"), admin.site),
    )


class StartForm(forms.Form):
    form_id = forms.UUIDField(initial=uuid.uuid4, widget=forms.HiddenInput)
    record = forms.CharField(
        label=_("Record"),
        required=False,
        max_length=LONGEST_RECORD,
        help_text=_("What it is about: an order, a sensor, a case. Events with the same record find this instance."),
        widget=UnfoldAdminTextInputWidget,
    )
    variables = VariablesField(label=_("Variables"), help_text=_("JSON, by name. Empty: none."))


class SeenForm(forms.Form):
    """Carries the version of the instance that the person has seen."""

    version = forms.IntegerField(min_value=0, max_value=LARGEST_NUMBER, widget=forms.HiddenInput)


class VariablesForm(SeenForm):
    variables = VariablesField(
        label=_("Variables"),
        help_text=_("JSON, by name. What you change or add is set; what you leave out stays as it is."),
    )


class RetryForm(VariablesForm):
    note = forms.CharField(
        label=_("Note"),
        required=False,
        max_length=1000,
        help_text=_("What you found or fixed; it is stored with the incident, with your name."),
        widget=UnfoldAdminTextInputWidget,
    )
    field_order = ["note", "variables"]


class ReturnForm(SeenForm):
    reason = reason_field(_("It is shown in the version tree, with your name."), longest=LONGEST_REASON)


class CompareForm(forms.Form):
    """Two versions, under the names of the REST API: `from` is a keyword in Python."""

    to = forms.IntegerField(min_value=1, max_value=LARGEST_NUMBER)

    def __init__(self, data: Mapping[str, Any]) -> None:
        super().__init__(data)
        self.fields["from"] = forms.IntegerField(min_value=1, max_value=LARGEST_NUMBER)
