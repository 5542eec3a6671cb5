"""Choose a subsystem by its name and its enterprise's: two enterprises may call theirs the same."""

from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.admin.views.autocomplete import AutocompleteJsonView
from django.contrib.admin.widgets import AutocompleteSelect
from django.utils.translation import gettext_lazy as _

from messaging.models import Device, Subsystem


class SubsystemSelect(AutocompleteSelect):
    url_name = "%s:messaging_subsystem_choices"


class SubsystemField(forms.ModelChoiceField):  # type: ignore[type-arg]
    def __init__(self) -> None:
        widget = SubsystemSelect(Device._meta.get_field("subsystem"), admin.site)
        super().__init__(Subsystem.objects.select_related("enterprise"), label=_("Subsystem"), widget=widget)

    def label_from_instance(self, subsystem: Any) -> str:
        return _full_name(subsystem)


class SubsystemChoices(AutocompleteJsonView):
    """Answers what the field finds while a name is typed."""

    def serialize_result(self, obj: Any, to_field_name: str) -> dict[str, str]:
        return {**super().serialize_result(obj, to_field_name), "text": _full_name(obj)}


def _full_name(subsystem: Subsystem) -> str:
    return f"{subsystem.name} · {subsystem.enterprise.name}"
