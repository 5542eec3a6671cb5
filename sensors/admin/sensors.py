from collections.abc import Callable, Sequence
from typing import Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet, Value
from django.forms import Form
from django.http import HttpRequest, HttpResponse
from django.urls import path
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext, ngettext, ngettext_lazy, pgettext_lazy
from django.utils.translation import gettext_lazy as _
from unfold.contrib.filters.admin import AutocompleteSelectFilter

from config.admin_base.confirm_many import ManyAction, Report, Tally, confirm_many
from config.admin_base.lists import ListPage
from config.admin_base.mute import MuteForm, muted_badge
from config.admin_base.pages import Question, ReadOnceAdmin, active_badge, actor_of
from config.admin_base.theme import action, display
from config.admin_base.times import ago_element
from sensors.admin.as_of_page import link_page, sensor_as_of_page
from sensors.admin.attention_page import attention_page
from sensors.admin.filters import ActiveFilter, ConnectionFilter, MutedFilter, StateFilter
from sensors.admin.forms import LinkForm, SensorForm
from sensors.admin.history_card import answer_history, read_asked
from sensors.admin.import_page import import_page
from sensors.admin.presentation import connection_badge, state_word
from sensors.admin.sensor_page import build_sensor_page
from sensors.heartbeat.ingest_liveness import is_outage
from sensors.models import Sensor
from sensors.selectors import connection_of, matching_text
from sensors.services.exports import export_rows
from sensors.services.links import link_sensors
from sensors.services.sensors import create_sensor, mute_sensors, set_sensors_active, update_sensor

CLIENTS_SHOWN = 3
MOST_AT_ONCE = 100_000
COUNTED = ngettext_lazy("%(number)s sensor:", "%(number)s sensors:", "count")


@admin.register(Sensor)
class SensorAdmin(ReadOnceAdmin[Sensor]):
    list_display = ("id", "address", "value", "since", "connection", "last_seen", "client_names", "activity")
    list_filter = (ConnectionFilter, StateFilter, ActiveFilter, MutedFilter, ("clients", AutocompleteSelectFilter))
    empty_text = _("Register a sensor by its id, or import a table of them.")
    ordering = ("id",)
    search_fields = ("id", "address")
    search_help_text = _("Part of an id, an address or a client's name")
    actions = ("link_to_client", "mute", "activate", "deactivate")
    actions_list = ("attention", "import_file")
    form = SensorForm
    fields = ("id", "address", "linked", "heartbeat_timeout", "open_limit", "muted_until", "active", "notes")
    compressed_fields = True
    change_form_outer_before_template = "admin/sensors/sensor/overview.html"
    change_form_outer_after_template = "admin/sensors/sensor/past.html"

    class Media:
        css = {"all": ["postern/sensors.css"]}
        js = ["postern/history.js"]

    @display(description=_("state"), ordering="state__value")
    def value(self, sensor: Sensor) -> str:
        return state_word(sensor.state.value)

    @display(description=pgettext_lazy("state", "changed"), ordering="state__changed_at")
    def since(self, sensor: Sensor) -> SafeString:
        return ago_element(sensor.state.changed_at)

    @display(description=_("connection"), ordering="state__lost_at")
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

    @display(description=_("last seen"), ordering="state__seen_at")
    def last_seen(self, sensor: Sensor) -> SafeString:
        return ago_element(sensor.state.seen_at)

    @display(description=_("clients"))
    def client_names(self, sensor: Sensor) -> str:
        names = [client.name for client in sensor.clients.all()]
        more = f" +{len(names) - CLIENTS_SHOWN}" if names[CLIENTS_SHOWN:] else ""
        return ", ".join(names[:CLIENTS_SHOWN]) + more or "–"

    @display(description=_("active"), ordering="active")
    def activity(self, sensor: Sensor) -> SafeString:
        return format_html("{} {}", active_badge(sensor.active), muted_badge(sensor.muted_until))

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
        sensors = super().get_queryset(request).select_related("state", "open_door").prefetch_related("clients")
        return sensors.annotate(is_outage=Value(is_outage()))

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Sensor], search_term: str
    ) -> tuple[QuerySet[Sensor], bool]:
        text = search_term.strip()
        return (queryset.filter(matching_text(text)) if text else queryset), False

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Sensor | None:
        """Return the sensor, read once for all parts of its page."""
        read: dict[str, Sensor | None] = request.__dict__.setdefault("sensors_read", {})
        if object_id not in read:
            read[object_id] = super().get_object(request, object_id, from_field)
        return read[object_id]

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> Any:
        sensor = self.get_object(request, object_id)
        if sensor is not None and self.has_view_or_change_permission(request, sensor):
            if "at" in request.GET:
                return sensor_as_of_page(self, request, sensor)
            if request.GET.get("format") == "csv":
                asked = read_asked(request, now=timezone.now())
                return answer_history([sensor.pk], asked, name=f"{sensor.pk}-history.csv")
        page = None if sensor is None else build_sensor_page(request, sensor)
        return super().change_view(request, object_id, form_url, {**(extra_context or {}), "page": page})

    def get_urls(self) -> list[Any]:
        view = self.admin_site.admin_view(self.link_view)
        return [path("<str:object_id>/clients/<int:client_id>/", view, name="sensors_sensor_link"), *super().get_urls()]

    def link_view(self, request: HttpRequest, object_id: str, client_id: int) -> HttpResponse:
        """Show the link between a sensor and a client, now or at an earlier time."""
        if not self.has_view_or_change_permission(request):
            raise PermissionDenied
        return link_page(self, request, object_id, client_id)

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

        def act(ids: Sequence[str], answers: dict[str, Any]) -> Tally:
            client = answers["client"]
            done = link_sensors(sensor_ids=ids, client_id=client.pk, actor=actor_of(request))
            return Tally(done, len(ids) - done)

        def describe(tally: Tally) -> Report:
            words = ngettext("%(done)d sensor linked.", "%(done)d sensors linked.", tally.done)
            return _report(words, tally)

        return self._confirm_many(request, queryset, question, act, describe, form=LinkForm)

    @admin.action(description=_("Activate"), permissions=["change"])
    def activate(self, request: HttpRequest, queryset: QuerySet[Sensor]) -> HttpResponse | None:
        question = Question(
            title=gettext("Activate these sensors?"),
            text=gettext("Their signals are accepted again, and silence counts from now on."),
            button=gettext("Activate"),
        )

        def act(ids: Sequence[str], answers: dict[str, Any]) -> Tally:
            done = set_sensors_active(sensor_ids=ids, active=True, actor=actor_of(request))
            return Tally(done, len(ids) - done)

        def describe(tally: Tally) -> Report:
            return _report(ngettext("%(done)d sensor activated.", "%(done)d sensors activated.", tally.done), tally)

        return self._confirm_many(request, queryset, question, act, describe)

    @admin.action(description=_("Deactivate"), permissions=["change"])
    def deactivate(self, request: HttpRequest, queryset: QuerySet[Sensor]) -> HttpResponse | None:
        question = Question(
            title=gettext("Deactivate these sensors?"),
            text=gettext("Their signals are rejected and their clients are no longer notified; their history stays."),
            button=gettext("Deactivate"),
            dangerous=True,
        )

        def act(ids: Sequence[str], answers: dict[str, Any]) -> Tally:
            done = set_sensors_active(sensor_ids=ids, active=False, actor=actor_of(request))
            return Tally(done, len(ids) - done)

        def describe(tally: Tally) -> Report:
            return _report(ngettext("%(done)d sensor deactivated.", "%(done)d sensors deactivated.", tally.done), tally)

        return self._confirm_many(request, queryset, question, act, describe)

    def _confirm_many(
        self,
        request: HttpRequest,
        chosen: QuerySet[Sensor],
        question: Question,
        act: Callable[[Sequence[str], dict[str, Any]], Tally],
        describe: Callable[[Tally], Report],
        form: type[Form] = Form,
    ) -> HttpResponse | None:
        too_many = gettext("At most 100,000 sensors at a time: narrow down the list first.")
        many = ManyAction(question, act, describe, COUNTED, MOST_AT_ONCE, too_many=too_many, form=form, shown_as="pk")
        return confirm_many(self, request, chosen, many)

    @admin.action(description=_("Mute"), permissions=["change"])
    def mute(self, request: HttpRequest, queryset: QuerySet[Sensor]) -> HttpResponse | None:
        question = Question(
            title=gettext("Mute these sensors?"),
            text=gettext(
                "Until then no one is notified of a lost or restored connection, nor of a door left open. Doors that "
                "open or close are reported as before, and history records everything. A connection that is still lost "
                "at the end is reported then."
            ),
            button=gettext("Mute"),
        )

        def act(ids: Sequence[str], answers: dict[str, Any]) -> Tally:
            done = mute_sensors(sensor_ids=ids, until=answers["muted_until"], actor=actor_of(request))
            return Tally(done, len(ids) - done)

        def describe(tally: Tally) -> Report:
            words = ngettext("Mute updated for %(done)d sensor.", "Mute updated for %(done)d sensors.", tally.done)
            return _report(words, tally)

        return self._confirm_many(request, queryset, question, act, describe, form=MuteForm)

    @action(description=_("Left open or lost"), permissions=["view"], url_path="attention", icon="door_open")
    def attention(self, request: HttpRequest) -> HttpResponse:
        return attention_page(self, request)

    @action(description=_("Import"), permissions=["import"], url_path="import", icon="upload_file")
    def import_file(self, request: HttpRequest) -> HttpResponse:
        return import_page(self, request)

    def export_rows(self, request: HttpRequest, page: ListPage) -> Any:
        """Yield the sensors of the list in the columns that the import takes."""
        return export_rows(Sensor.objects.filter(pk__in=page.queryset.order_by().values("pk")))


def _report(words: str, tally: Tally) -> Report:
    """Report what was done, and how many of the chosen needed nothing."""
    said, unchanged = words % {"done": tally.done}, tally.left_out
    if not unchanged:
        return Report(said)
    others = ngettext("%(count)d unchanged.", "%(count)d unchanged.", unchanged) % {"count": unchanged}
    return Report(f"{said} {others}")
