from typing import Any

from django.contrib import admin
from django.db.models import Exists, OuterRef, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.http import urlencode
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from config.admin_base.pages import BigTableAdmin, badge, trace_link
from config.admin_base.theme import display
from sensors.admin.filters import ReasonFilter, SensorIdFilter, TimeFilter
from sensors.ingest.signals import Code
from sensors.models import RejectedSignal, Sensor
from sensors.presentation import say_rejection, say_rejection_message
from sensors.services.rules import id_faults


@admin.register(RejectedSignal)
class RejectedSignalAdmin(BigTableAdmin[RejectedSignal]):
    list_display = ("last_at", "reason", "sensor_id", "explanation", "count", "register_link")
    list_filter = (ReasonFilter, TimeFilter, SensorIdFilter)
    empty_text = _("No signal has been rejected. One that cannot be used is kept here with the reason.")
    # By the key: it has an index in every partition, the minute has none.
    ordering = ("-id",)
    fields = ("reason", "explanation", "sensor_id", "count", "last_at", "chain", "text", "register_link")

    class Media:
        css = {"all": ["postern/sensors.css"]}

    @display(description=_("reason"), ordering="code")
    def reason(self, signal: RejectedSignal) -> SafeString:
        return format_html('<span title="{}">{}</span>', signal.code, badge(say_rejection(signal.code), "warning"))

    @display(description=_("message"), ordering="message")
    def explanation(self, signal: RejectedSignal) -> str:
        return say_rejection_message(signal.message)

    @display(description=_("body"))
    def text(self, signal: RejectedSignal) -> SafeString:
        return format_html('<pre class="pst-code">{}</pre>', signal.raw or "–")

    @display(description=_("correlation id"))
    def chain(self, signal: RejectedSignal) -> SafeString | str:
        return trace_link(signal.correlation_id)

    @display(description=_("register"))
    def register_link(self, signal: RejectedSignal) -> str:
        """Return a link to register the sensor, with its id filled in."""
        if signal.code != Code.UNKNOWN_SENSOR or id_faults(signal.sensor_id):
            return "–"
        if getattr(signal, "is_registered", False):
            return gettext("already registered")
        address = f"{reverse('admin:sensors_sensor_add')}?{urlencode({'id': signal.sensor_id})}"
        return format_html('<a class="pst-link" href="{}">{}</a>', address, gettext("Register this sensor"))

    def get_queryset(self, request: HttpRequest) -> QuerySet[RejectedSignal]:
        registered = Exists(Sensor.objects.filter(pk=OuterRef("sensor_id")))
        return super().get_queryset(request).annotate(is_registered=registered)

    def get_list_display(self, request: HttpRequest) -> Any:
        """Leave the last column out for those who may not register sensors."""
        columns = super().get_list_display(request)
        return columns if request.user.has_perm("sensors.add_sensor") else columns[:-1]

    def get_fields(self, request: HttpRequest, obj: RejectedSignal | None = None) -> Any:
        names = super().get_fields(request, obj)
        return names if request.user.has_perm("sensors.add_sensor") else names[:-1]
