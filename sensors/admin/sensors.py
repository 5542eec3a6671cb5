from collections.abc import Callable, Sequence
from typing import Any

from django.contrib import admin
from django.contrib.admin.options import IncorrectLookupParameters
from django.db.models import QuerySet, Value
from django.forms import Form
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.formats import number_format
from django.utils.safestring import SafeString
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _
from unfold.contrib.filters.admin import AutocompleteSelectFilter

from config.admin_base.confirm_many import ManyAction, Report, bounded_paginator, confirm_many
from config.admin_base.pages import Question, active_badge, actor_of
from config.admin_base.theme import ModelAdmin, action, display
from sensors.admin.filters import ActiveFilter, ConnectionFilter, StateFilter
from sensors.admin.forms import LinkForm, SensorForm
from sensors.admin.import_page import import_page
from sensors.admin.presentation import ago, connection_badge, duration_since, state_word
from sensors.admin.sensor_page import build_sensor_page
from sensors.api.tables import answer_table
from sensors.heartbeat.ingest_liveness import is_outage
from sensors.models import Sensor
from sensors.selectors import connection_of, matching_text
from sensors.services.exports import export_rows
from sensors.services.links import link_sensors
from sensors.services.sensors import create_sensor, set_sensors_active, update_sensor

CLIENTS_SHOWN = 3
MOST_AT_ONCE = 100_000


@admin.register(Sensor)
class SensorAdmin(ModelAdmin[Sensor]):
    list_display = ("id", "address", "value", "since", "connection", "last_seen", "client_names", "activity")
    list_filter = (ConnectionFilter, StateFilter, ActiveFilter, ("clients", AutocompleteSelectFilter))
    list_filter_submit = True
    list_per_page = 50
    paginator = bounded_paginator(MOST_AT_ONCE)
    show_full_result_count = False
    list_max_show_all = 0
    sortable_by = ()
    ordering = ("id",)
    search_fields = ("id", "address")
    search_help_text = _("Part of an id, an address or a client's name")
    actions = ("link_to_client", "activate", "deactivate")
    actions_list = ("import_file", "export_file")
    form = SensorForm
    fields = ("id", "address", "linked", "heartbeat_timeout", "muted_until", "active", "notes")
    compressed_fields = True
    change_form_outer_before_template = "admin/sensors/sensor/overview.html"
    change_form_outer_after_template = "admin/sensors/sensor/past.html"

    class Media:
        css = {"all": ["postern/sensors.css"]}

    @display(description=_("state"))
    def value(self, sensor: Sensor) -> str:
        return state_word(sensor.state.value)

    @display(description=_("since"))
    def since(self, sensor: Sensor) -> str:
        return duration_since(sensor.state.changed_at)

    @display(description=_("connection"))
    def connection(self, sensor: Sensor) -> SafeString:
        state = sensor.state
        return connection_badge(
            connection_of(
                active=sensor.active,
                seen=state.seen_at is not None,
                lost=state.lost_at is not None,
                outage=getattr(sensor, "is_outage", False),
            )
        )

    @display(description=_("last seen"))
    def last_seen(self, sensor: Sensor) -> str:
        return ago(sensor.state.seen_at)

    @display(description=_("clients"))
    def client_names(self, sensor: Sensor) -> str:
        names = [client.name for client in sensor.clients.all()]
        return ", ".join(names[:CLIENTS_SHOWN]) + (f" +{len(names) - CLIENTS_SHOWN}" if names[CLIENTS_SHOWN:] else "")

    @display(description=_("active"))
    def activity(self, sensor: Sensor) -> SafeString:
        return active_badge(sensor.active)

    @display(description=_("clients"))
    def linked(self, sensor: Sensor) -> str:
        """Return the clients for those who may only view: they see this in place of the form's field."""
        return ", ".join(client.name for client in sensor.clients.all()) or "–"

    def has_delete_permission(self, request: HttpRequest, obj: Sensor | None = None) -> bool:
        """Sensors are deactivated, so that their history stays readable."""
        return False

    def has_import_permission(self, request: HttpRequest) -> bool:
        return self.has_add_permission(request) and self.has_change_permission(request)

    def get_readonly_fields(self, request: HttpRequest, obj: Sensor | None = None) -> tuple[str, ...]:
        return () if obj is None else ("id",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Sensor]:
        sensors = super().get_queryset(request).select_related("state").prefetch_related("clients")
        return sensors.annotate(is_outage=Value(is_outage()))

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Sensor], search_term: str
    ) -> tuple[QuerySet[Sensor], bool]:
        text = search_term.strip()
        return (queryset.filter(matching_text(text)) if text else queryset), False

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        sensor = self.get_object(request, object_id)
        page = None if sensor is None else build_sensor_page(request, sensor)
        return super().change_view(request, object_id, form_url, {**(extra_context or {}), "page": page})

    def save_model(self, request: HttpRequest, obj: Sensor, form: Any, change: bool) -> None:
        """Pass the values to the service; of a sensor that exists, only those that this person changed."""
        values = {name: form.cleaned_data[name] for name in SensorForm.Meta.fields if name in form.cleaned_data}
        values["clients"] = [client.pk for client in form.cleaned_data["linked"]]
        values.pop("id", None)
        if not change:
            create_sensor(sensor_id=obj.pk, actor=actor_of(request), **values)
            return
        touched = {"clients" if name == "linked" else name for name in form.changed_data}
        edits = {name: value for name, value in values.items() if name in touched}
        update_sensor(sensor_id=obj.pk, actor=actor_of(request), **edits)

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        """Do nothing: the service has written the links."""

    @admin.action(description=_("Link to a client"), permissions=["change"])
    def link_to_client(self, request: HttpRequest, queryset: QuerySet[Sensor]) -> HttpResponse | None:
        question = Question(
            title=gettext("Link to a client"),
            text=gettext("The client is notified about these sensors from now on."),
            button=gettext("Link"),
        )

        def act(ids: Sequence[str], answers: dict[str, Any]) -> Report:
            client = answers["client"]
            done = link_sensors(sensor_ids=ids, client_id=client.pk, actor=actor_of(request))
            words = ngettext("%(done)d sensor was linked.", "%(done)d sensors were linked.", done) % {"done": done}
            return _report(words, len(ids) - done)

        return self._confirm_many(request, queryset, question, act, form=LinkForm)

    @admin.action(description=_("Activate"), permissions=["change"])
    def activate(self, request: HttpRequest, queryset: QuerySet[Sensor]) -> HttpResponse | None:
        question = Question(
            title=gettext("Activate these sensors?"),
            text=gettext("Their signals are accepted again, and silence counts from this moment."),
            button=gettext("Activate"),
        )

        def act(ids: Sequence[str], answers: dict[str, Any]) -> Report:
            done = set_sensors_active(sensor_ids=ids, active=True, actor=actor_of(request))
            words = ngettext("%(done)d sensor was activated.", "%(done)d sensors were activated.", done)
            return _report(words % {"done": done}, len(ids) - done)

        return self._confirm_many(request, queryset, question, act)

    @admin.action(description=_("Deactivate"), permissions=["change"])
    def deactivate(self, request: HttpRequest, queryset: QuerySet[Sensor]) -> HttpResponse | None:
        question = Question(
            title=gettext("Deactivate these sensors?"),
            text=gettext("Their signals are refused and their clients are no longer notified; their history stays."),
            button=gettext("Deactivate"),
            dangerous=True,
        )

        def act(ids: Sequence[str], answers: dict[str, Any]) -> Report:
            done = set_sensors_active(sensor_ids=ids, active=False, actor=actor_of(request))
            words = ngettext("%(done)d sensor was deactivated.", "%(done)d sensors were deactivated.", done)
            return _report(words % {"done": done}, len(ids) - done)

        return self._confirm_many(request, queryset, question, act)

    def _confirm_many(
        self,
        request: HttpRequest,
        chosen: QuerySet[Sensor],
        question: Question,
        act: Callable[[Sequence[str], dict[str, Any]], Report],
        form: type[Form] = Form,
    ) -> HttpResponse | None:
        too_many = gettext("At most 100,000 sensors at once: narrow the list first.")
        many = ManyAction(question, act, _count_words, MOST_AT_ONCE, too_many=too_many, form=form)
        return confirm_many(self, request, chosen, many)

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        answer = super().changelist_view(request, extra_context)
        for button in (getattr(answer, "context_data", None) or {}).get("actions_list", []):
            if request.GET and button.get("path") == reverse("admin:sensors_sensor_export_file"):
                button["path"] += f"?{request.GET.urlencode()}"
        return answer

    @action(description=_("Import"), permissions=["import"], url_path="import", icon="upload_file")
    def import_file(self, request: HttpRequest) -> HttpResponse:
        return import_page(self, request)

    @action(description=_("Export"), permissions=["view"], url_path="export", icon="download")
    def export_file(self, request: HttpRequest) -> Any:
        """Export the sensors of the list, on all its pages: the button carries the filters of the list."""
        try:
            shown = self.get_changelist_instance(request).queryset
        except IncorrectLookupParameters:
            return HttpResponseRedirect(reverse("admin:sensors_sensor_changelist", query={"e": 1}))
        return answer_table(export_rows(Sensor.objects.filter(pk__in=shown.order_by().values("pk"))))


def _count_words(count: int) -> str:
    return ngettext("%(number)s sensor:", "%(number)s sensors:", count) % {"number": number_format(count)}


def _report(words: str, unchanged: int) -> Report:
    """Report what was done, and how many of the chosen needed nothing."""
    if not unchanged:
        return Report(words)
    others = ngettext("%(count)d needed no change.", "%(count)d needed no changes.", unchanged) % {"count": unchanged}
    return Report(f"{words} {others}")
