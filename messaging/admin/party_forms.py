"""The forms of the parties; their values are saved by services, never by the forms themselves."""

import uuid
from typing import Any, ClassVar

from django import forms
from django.db.models import Model
from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldAdminTextInputWidget

from config.common.errors import Conflict
from messaging.admin.subsystem_choice import SubsystemField
from messaging.errors import DatabaseExists, DeviceExists
from messaging.models import Device, Enterprise, ExchangeDatabase, Subsystem
from messaging.services.party_rules import id_faults, name_faults, subsystem_faults


class PartyForm(forms.ModelForm):  # type: ignore[type-arg]
    id = forms.CharField(
        label=_("Id"),
        max_length=36,
        required=False,
        help_text=_("1 to 36 letters, digits and hyphens; it cannot be changed later. Leave empty to generate one."),
        widget=UnfoldAdminTextInputWidget,
    )
    form_id = forms.UUIDField(initial=uuid.uuid4, widget=forms.HiddenInput, required=False)
    rival: ClassVar[tuple[type[Model], type[Conflict]] | None] = None
    """The other kind of party that may not have the same id."""

    def clean(self) -> dict[str, Any]:
        values = super().clean() or self.cleaned_data
        if values.get("id"):
            self._add_faults(id_faults(values["id"]) or self._rival_faults(values["id"]))
        if "name" in values:
            self._add_faults(name_faults(values["name"].strip()))
        return values

    def _rival_faults(self, party_id: str) -> dict[str, list[str]]:
        if self.rival is None or not self.rival[0]._default_manager.filter(pk=party_id).exists():
            return {}
        return {"id": [self.rival[1]().message]}

    def _add_faults(self, faults: dict[str, list[str]]) -> None:
        for field, rules in faults.items():
            self.add_error(field, rules)


class EnterpriseForm(PartyForm):
    class Meta:
        model = Enterprise
        fields = ("id", "name")


class SubsystemForm(PartyForm):
    class Meta:
        model = Subsystem
        fields = ("id", "enterprise", "name")


class DeviceForm(PartyForm):
    subsystem = SubsystemField()
    rival = (ExchangeDatabase, DatabaseExists)

    class Meta:
        model = Device
        fields = ("id", "subsystem", "name")

    def clean(self) -> dict[str, Any]:
        values = super().clean()
        if "subsystem" in values and not self.instance._state.adding:
            owner = self.instance.subsystem.enterprise_id
            self._add_faults(subsystem_faults(values["subsystem"], enterprise_id=owner))
        return values


class DatabaseForm(PartyForm):
    rival = (Device, DeviceExists)

    class Meta:
        model = ExchangeDatabase
        fields = ("id", "enterprise", "name")
