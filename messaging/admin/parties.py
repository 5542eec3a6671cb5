"""The pages of enterprises, subsystems, devices and databases."""

from collections.abc import Sequence
from typing import Any

from django.contrib import admin, messages
from django.db.models import Count, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern, path, reverse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from unfold.contrib.filters.admin import AutocompleteSelectFilter

from config.admin_base.pages import Question, actor_of, ask_then_act, get_subject, page_of
from config.admin_base.theme import action, display
from messaging.admin.party_admin import KeyedAdmin, PartyAdmin, SwitchableAdmin
from messaging.admin.party_filters import ActiveFilter
from messaging.admin.party_forms import DatabaseForm, DeviceForm, EnterpriseForm, SubsystemForm
from messaging.admin.party_page import Fact, key_fact, number_fact, party_fact, request_fact, state_badge, state_fact
from messaging.admin.subsystem_choice import SubsystemChoices
from messaging.errors import SubsystemInUse
from messaging.models import Device, Enterprise, ExchangeDatabase, Subsystem
from messaging.services.databases import create_database, rotate_database_key, update_database
from messaging.services.devices import create_device, rotate_device_key, update_device
from messaging.services.enterprises import create_enterprise, update_enterprise
from messaging.services.party_keys import NewKey
from messaging.services.subsystems import create_subsystem, delete_subsystem, update_subsystem


@admin.register(Enterprise)
class EnterpriseAdmin(SwitchableAdmin[Enterprise]):
    kind = "enterprise"
    list_display = ("name", "id", "subsystem_count", "database_count", "activity")
    list_filter = (ActiveFilter,)
    actions_detail = ("deactivate", "activate")
    form = EnterpriseForm
    off_words = _(
        "Calls from all its devices and databases are refused from now on. Nothing is deleted; activate it to continue."
    )

    @display(description=_("subsystems"), ordering="number_of_subsystems")
    def subsystem_count(self, enterprise: Enterprise) -> int:
        return int(getattr(enterprise, "number_of_subsystems", 0))

    @display(description=_("databases"), ordering="number_of_databases")
    def database_count(self, enterprise: Enterprise) -> int:
        return int(getattr(enterprise, "number_of_databases", 0))

    def get_queryset(self, request: HttpRequest) -> QuerySet[Enterprise]:
        return (
            super()
            .get_queryset(request)
            .annotate(
                number_of_subsystems=Count("subsystems", distinct=True),
                number_of_databases=Count("databases", distinct=True),
            )
        )

    def facts(self, request: HttpRequest, party: Enterprise) -> Sequence[Fact]:
        own, devices = f"enterprise__id__exact={party.pk}", Device.objects.filter(subsystem__enterprise=party)
        return [
            state_fact(party.active),
            number_fact(gettext("Subsystems"), party.subsystems.count(), Subsystem, narrowed=own),
            number_fact(gettext("Devices"), devices.count(), Device, narrowed=f"subsystem__{own}"),
            number_fact(gettext("Databases"), party.databases.count(), ExchangeDatabase, narrowed=own),
        ]

    def create(self, party_id: str | None, actor: str, values: dict[str, Any]) -> str:
        return create_enterprise(enterprise_id=party_id, actor=actor, **values)

    def update(self, party_id: str, actor: str, edits: dict[str, Any]) -> None:
        update_enterprise(enterprise_id=party_id, actor=actor, **edits)


@admin.register(Subsystem)
class SubsystemAdmin(PartyAdmin[Subsystem]):
    kind = "subsystem"
    list_display = ("name", "id", "enterprise", "device_count")
    list_filter = (("enterprise", AutocompleteSelectFilter),)
    search_fields = ("id", "name", "enterprise__name")
    search_help_text = _("Part of an id, a name or the enterprise's name")
    actions_detail = ("remove",)
    form = SubsystemForm
    fixed = ("id", "enterprise")
    autocomplete_fields = ("enterprise",)

    @display(description=_("devices"), ordering="number_of_devices")
    def device_count(self, subsystem: Subsystem) -> int:
        return int(getattr(subsystem, "number_of_devices", 0))

    def get_queryset(self, request: HttpRequest) -> QuerySet[Subsystem]:
        subsystems = super().get_queryset(request).select_related("enterprise")
        return subsystems.annotate(number_of_devices=Count("devices"))

    def get_urls(self) -> list[URLPattern]:
        choices = self.admin_site.admin_view(SubsystemChoices.as_view(admin_site=self.admin_site))
        return [path("choices/", choices, name="messaging_subsystem_choices"), *super().get_urls()]

    def has_remove_permission(self, request: HttpRequest, object_id: str | None = None) -> bool:
        return request.user.has_perm("messaging.delete_subsystem")

    def facts(self, request: HttpRequest, party: Subsystem) -> Sequence[Fact]:
        devices = number_fact(
            gettext("Devices"), party.devices.count(), Device, narrowed=f"subsystem__id__exact={party.pk}"
        )
        return [party_fact(gettext("Enterprise"), party.enterprise), devices]

    def create(self, party_id: str | None, actor: str, values: dict[str, Any]) -> str:
        return create_subsystem(subsystem_id=party_id, actor=actor, **values)

    def update(self, party_id: str, actor: str, edits: dict[str, Any]) -> None:
        update_subsystem(subsystem_id=party_id, actor=actor, **edits)

    @action(description=_("Delete"), permissions=["remove"], url_path="remove", icon="delete", dangerous=True)
    def remove(self, request: HttpRequest, object_id: str) -> HttpResponse:
        subsystem = get_subject(self, request, object_id)
        if self.device_count(subsystem):
            # Nobody is asked for what would be refused.
            messages.error(request, SubsystemInUse().message)
            return HttpResponseRedirect(page_of(self, subsystem))
        question = Question(
            title=gettext("Delete “%(name)s”?") % {"name": subsystem},
            text=gettext("A subsystem can be deleted as long as it has neither devices nor messages."),
            button=gettext("Delete"),
            dangerous=True,
        )

        def act(answers: dict[str, Any]) -> str:
            delete_subsystem(subsystem_id=subsystem.pk, actor=actor_of(request))
            return gettext("“%(name)s” has been deleted.") % {"name": subsystem}

        after = reverse("admin:messaging_subsystem_changelist")
        return ask_then_act(self, request, subsystem, question=question, act=act, after=after)


@admin.register(Device)
class DeviceAdmin(KeyedAdmin[Device]):
    kind = "device"
    list_display = ("name", "id", "subsystem", "enterprise", "activity")
    list_filter = (
        ("subsystem__enterprise", AutocompleteSelectFilter),
        ("subsystem", AutocompleteSelectFilter),
        ActiveFilter,
    )
    form = DeviceForm
    off_words = _("Its keys are refused from now on; its messages stay. Activate it to allow access again.")

    @display(description=_("enterprise"), ordering="subsystem__enterprise__name")
    def enterprise(self, device: Device) -> Enterprise:
        return device.subsystem.enterprise

    @display(description=_("state"), ordering="active")
    def activity(self, device: Device) -> Any:
        return state_badge(device.active, device.subsystem.enterprise)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Device]:
        return super().get_queryset(request).select_related("subsystem__enterprise")

    def facts(self, request: HttpRequest, party: Device) -> Sequence[Fact]:
        subsystem = party.subsystem
        return [
            state_fact(party.active, subsystem.enterprise),
            party_fact(gettext("Subsystem"), subsystem),
            party_fact(gettext("Enterprise"), subsystem.enterprise),
            key_fact(request, self.kind, party.pk),
        ]

    def create(self, party_id: str | None, actor: str, values: dict[str, Any]) -> NewKey:
        enterprise = Subsystem.objects.values_list("enterprise_id", flat=True).get(pk=values["subsystem"])
        return create_device(device_id=party_id, actor=actor, enterprise=enterprise, **values)

    def update(self, party_id: str, actor: str, edits: dict[str, Any]) -> None:
        update_device(device_id=party_id, actor=actor, **edits)

    def rotate_key(self, party_id: str, actor: str) -> NewKey:
        return rotate_device_key(device_id=party_id, actor=actor)


@admin.register(ExchangeDatabase)
class DatabaseAdmin(KeyedAdmin[ExchangeDatabase]):
    kind = "database"
    list_display = ("name", "id", "enterprise", "activity")
    list_filter = (("enterprise", AutocompleteSelectFilter), ActiveFilter)
    form = DatabaseForm
    fixed = ("id", "enterprise")
    autocomplete_fields = ("enterprise",)
    off_words = _(
        "Its keys are refused from now on; its messages and processes stay. Activate it to allow access again."
    )

    @display(description=_("state"), ordering="active")
    def activity(self, database: ExchangeDatabase) -> Any:
        return state_badge(database.active, database.enterprise)

    def get_queryset(self, request: HttpRequest) -> QuerySet[ExchangeDatabase]:
        return super().get_queryset(request).select_related("enterprise")

    def facts(self, request: HttpRequest, party: ExchangeDatabase) -> Sequence[Fact]:
        return [
            state_fact(party.active, party.enterprise),
            party_fact(gettext("Enterprise"), party.enterprise),
            key_fact(request, self.kind, party.pk),
            request_fact(party),
        ]

    def create(self, party_id: str | None, actor: str, values: dict[str, Any]) -> NewKey:
        return create_database(database_id=party_id, actor=actor, **values)

    def update(self, party_id: str, actor: str, edits: dict[str, Any]) -> None:
        update_database(database_id=party_id, actor=actor, **edits)

    def rotate_key(self, party_id: str, actor: str) -> NewKey:
        return rotate_database_key(database_id=party_id, actor=actor)
