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

from config.admin_base.pages import BigTableAdmin, badge
from config.admin_base.theme import display
from sensors.admin.filters import ReasonFilter, SensorIdFilter, TimeFilter
from sensors.ingest.signals import Code
from sensors.models import RejectedSignal, Sensor
from sensors.services.rules import id_faults


@admin.register(RejectedSignal)
class RejectedSignalAdmin(BigTableAdmin[RejectedSignal]):
    list_display = ("last_at", "reason", "sensor_id", "count", "message", "register_link")
    list_filter = (ReasonFilter, TimeFilter, SensorIdFilter)
    list_filter_submit = True
    # By the key: it has an index in every partition, the minute has none.
    ordering = ("-id",)
    fields = ("reason", "message", "sensor_id", "count", "recorded_at", "last_at", "text", "register_link")

    class Media:
        css = {"all": ["postern/sensors.css"]}

    @display(description=_("reason"))
    def reason(self, signal: RejectedSignal) -> SafeString:
        return badge(signal.code, "warning")

    @display(description=_("text"))
    def text(self, signal: RejectedSignal) -> SafeString:
        return format_html('<pre class="pst-code">{}</pre>', signal.raw or "–")

    @display(description=_("register"))
    def register_link(self, signal: RejectedSignal) -> str:
        """Return a link to register the sensor, with its id filled in."""
        if signal.code != Code.UNKNOWN_SENSOR or id_faults(signal.sensor_id):
            return "–"
        if getattr(signal, "is_registered", False):
            return gettext("registered since")
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
