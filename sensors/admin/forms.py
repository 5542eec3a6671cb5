"""The forms of the registry; their values are saved by services, never by the forms themselves."""

import uuid
from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.admin.widgets import AutocompleteSelect, AutocompleteSelectMultiple
from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldAdminFileFieldWidget, UnfoldAdminTextInputWidget

from sensors.models import Client, Sensor
from sensors.services.clients import values_of
from sensors.services.rules import LONGEST_URL, client_faults, id_faults, sensor_faults
from sensors.services.values import ClientValues, SensorValues

MUTE_HELP = _(
    "Planned work: until then no one is notified of a lost or restored connection, nor of a door left open. Doors that "
    "open or close are reported as before."
)
_CLIENTS = Sensor._meta.get_field("clients")


class SensorForm(forms.ModelForm):  # type: ignore[type-arg]
    linked = forms.ModelMultipleChoiceField(
        Client.objects.order_by("name"),
        label=_("Clients"),
        required=False,
        help_text=_("They are notified when the door opens or closes and when the connection is lost."),
        widget=AutocompleteSelectMultiple(_CLIENTS, admin.site),
    )

    class Meta:
        model = Sensor
        fields = ("id", "address", "notes", "active", "heartbeat_timeout", "open_limit", "muted_until")
        help_texts = {"muted_until": MUTE_HELP}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.instance.pk and not self.instance._state.adding:
            self.initial["linked"] = list(self.instance.clients.values_list("pk", flat=True))

    def clean(self) -> dict[str, Any]:
        values = super().clean() or self.cleaned_data
        if "id" in values:
            _add_faults(self, id_faults(values["id"]))
        if not self.errors:
            known = {name: values[name] for name in ("address", "notes", "active", "heartbeat_timeout", "open_limit")}
            _add_faults(self, sensor_faults(SensorValues(**known)))
        return values


class ClientForm(forms.ModelForm):  # type: ignore[type-arg]
    url = forms.CharField(
        label=_("URL"),
        max_length=LONGEST_URL,
        help_text=_("Where messages are sent: http or https, without a user name."),
        widget=UnfoldAdminTextInputWidget(attrs={"type": "url"}),
    )
    form_id = forms.UUIDField(initial=uuid.uuid4, widget=forms.HiddenInput, required=False)

    class Meta:
        model = Client
        fields = ("name", "active", "muted_until")
        help_texts = {"muted_until": MUTE_HELP}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.instance.pk:
            values = values_of(self.instance)
            self.initial.update(url=values.url, active=values.active)

    def clean(self) -> dict[str, Any]:
        values = super().clean() or self.cleaned_data
        if not self.errors:
            _add_faults(self, client_faults(ClientValues(name=values["name"], url=values["url"])))
        return values


class LinkForm(forms.Form):
    client = forms.ModelChoiceField(
        Client.objects.order_by("name"),
        label=_("Client"),
        widget=AutocompleteSelect(_CLIENTS, admin.site),
    )


class UploadForm(forms.Form):
    file = forms.FileField(
        label=_("File"),
        help_text=_("CSV in UTF-8, or XLSX; at most 10 MB and 100,000 rows."),
        widget=UnfoldAdminFileFieldWidget(attrs={"accept": ".csv,.xlsx"}),
    )


def _add_faults(form: Any, faults: dict[str, list[str]]) -> None:
    for field, rules in faults.items():
        form.add_error(field, rules)
