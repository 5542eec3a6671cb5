"""The forms of the pages. A form that acts on an instance carries the version that it was shown at."""

import uuid
from collections.abc import Mapping
from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.admin.widgets import AutocompleteSelect
from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldAdminFileFieldWidget, UnfoldAdminTextInputWidget, UnfoldBooleanWidget

from config.admin_base.pages import reason_field
from messaging.models import Enterprise
from processes.workflows.admin.values import VariablesField
from processes.workflows.models import WorkflowDefinition
from processes.workflows.services.start import LONGEST_RECORD

LARGEST_NUMBER = 2**31 - 1
LONGEST_REASON = 180
"""With the number of the version it fits into the cause of the new version, which has 200 characters."""


class EnterpriseForm(forms.Form):
    enterprise = forms.ModelChoiceField(
        Enterprise.objects.filter(active=True),
        label=_("Enterprise"),
        required=False,
        help_text=_(
            "The owner: its messages reach only the owner's devices and databases. Leave empty to share it with "
            "everyone."
        ),
        widget=AutocompleteSelect(WorkflowDefinition._meta.get_field("enterprise"), admin.site),
    )


class _SeveralFilesWidget(UnfoldAdminFileFieldWidget):  # type: ignore[misc]
    allow_multiple_selected = True


class SeveralFilesField(forms.FileField):
    """Any number of files; its value is a list."""

    def clean(self, data: Any, initial: Any = None) -> Any:
        return [super(SeveralFilesField, self).clean(each, initial) for each in data or ()]


def _shadow_field() -> forms.BooleanField:
    return forms.BooleanField(
        label=_("As a shadow"),
        required=False,
        help_text=_(
            "Try it beside the current revision first: it is given what running instances are given, nothing of it is "
            "sent, and you see where it differs."
        ),
        widget=UnfoldBooleanWidget,
    )


class UploadForm(EnterpriseForm):
    file = forms.FileField(
        label=_("File"),
        help_text=_(
            "BPMN 2.0, CMMN 1.1 or DMN 1.3 as saved by your modeler, up to 1 MB. Each executable process and each "
            "decision becomes a definition of its own."
        ),
        widget=UnfoldAdminFileFieldWidget(attrs={"accept": ".bpmn,.cmmn,.dmn,.xml"}),
    )
    linked_forms = SeveralFilesField(
        label=_("Forms"),
        required=False,
        help_text=_("Forms that its user tasks link to (.form files), if any."),
        widget=_SeveralFilesWidget(attrs={"accept": ".form,.json", "multiple": True}),
    )
    strict = forms.BooleanField(
        label=_("Strict"),
        required=False,
        help_text=_("Refuse the file if something in it would have no effect."),
        widget=UnfoldBooleanWidget,
    )
    drawing = forms.BooleanField(
        label=_("Only to look at"),
        required=False,
        help_text=_("If the file cannot be run, keep it as a drawing."),
        widget=UnfoldBooleanWidget,
    )
    shadow = _shadow_field()
    field_order = ["file", "linked_forms", "enterprise"]


class StartForm(forms.Form):
    form_id = forms.UUIDField(initial=uuid.uuid4, widget=forms.HiddenInput)
    record = forms.CharField(
        label=_("Record"),
        required=False,
        max_length=LONGEST_RECORD,
        help_text=_("What it is about: an order, a sensor, a case. Events with the same record reach this instance."),
        widget=UnfoldAdminTextInputWidget,
    )
    variables = VariablesField(label=_("Variables"), help_text=_("Variables as JSON (optional)"))


class SeenForm(forms.Form):
    """Carries the version of the instance that the person has seen."""

    version = forms.IntegerField(min_value=0, max_value=LARGEST_NUMBER, widget=forms.HiddenInput)


class OwnerForm(SeenForm, EnterpriseForm):
    """Publishes the version of a draft that the person has seen."""

    shadow = _shadow_field()


class VariablesForm(SeenForm):
    variables = VariablesField(
        label=_("Variables"),
        help_text=_("Variables as JSON. What you change or add is saved; what you leave out stays as it is."),
    )


class RetryForm(VariablesForm):
    note = forms.CharField(
        label=_("Note"),
        required=False,
        max_length=1000,
        help_text=_("What you found or fixed; kept with the incident, with your name."),
        widget=UnfoldAdminTextInputWidget,
    )
    field_order = ["note", "variables"]


class ReturnForm(SeenForm):
    reason = reason_field(_("Shown in the version tree, with your name."), longest=LONGEST_REASON)


class CompareForm(forms.Form):
    """Two versions, under the names of the REST API: `from` is a keyword in Python."""

    to = forms.IntegerField(min_value=1, max_value=LARGEST_NUMBER)

    def __init__(self, data: Mapping[str, Any]) -> None:
        super().__init__(data)
        self.fields["from"] = forms.IntegerField(min_value=1, max_value=LARGEST_NUMBER)
