"""Filters of the lists of sensors, clients and rejected signals."""

from datetime import timedelta
from typing import Any

from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from config.admin_base.theme import DropdownFilter, TextFilter
from sensors.heartbeat.ingest_liveness import is_outage
from sensors.ingest.signals import Code
from sensors.models import Client, RejectedSignal, Sensor
from sensors.presentation import say_rejection
from sensors.selectors import Connection, with_connection


class ConnectionFilter(DropdownFilter):
    title = _("connection")
    parameter_name = "connection"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return list(Connection.choices)

    def queryset(self, request: HttpRequest, queryset: QuerySet[Sensor]) -> QuerySet[Sensor]:
        chosen = self.value()
        if chosen not in Connection.values:
            return queryset
        return queryset.filter(with_connection(Connection(chosen), outage=is_outage()))


class StateFilter(DropdownFilter):
    title = _("state")
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [("1", pgettext_lazy("door", "open")), ("0", pgettext_lazy("door", "closed"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Sensor]) -> QuerySet[Sensor]:
        return queryset.filter(state__value=int(self.value() or 0)) if self.value() in ("0", "1") else queryset


class ActiveFilter(DropdownFilter):
    """Serves sensors and clients: both have the flag."""

    title = _("active")
    parameter_name = "active"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [("1", _("active")), ("0", _("inactive"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if self.value() not in ("0", "1"):
            return queryset
        active = Q(active=True, endpoint__active=True) if queryset.model is Client else Q(active=True)
        return queryset.filter(active if self.value() == "1" else ~active)


class MutedFilter(DropdownFilter):
    """Serves sensors and clients: both have the time."""

    title = _("muted")
    parameter_name = "muted"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [("1", _("muted")), ("0", _("not muted"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if self.value() not in ("0", "1"):
            return queryset
        muted = Q(muted_until__gt=timezone.now())
        return queryset.filter(muted) if self.value() == "1" else queryset.exclude(muted)


class ReasonFilter(DropdownFilter):
    title = _("reason")
    parameter_name = "code"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [(code.value, say_rejection(code)) for code in Code]

    def queryset(self, request: HttpRequest, queryset: QuerySet[RejectedSignal]) -> QuerySet[RejectedSignal]:
        return queryset.filter(code=self.value()) if self.value() else queryset


class TimeFilter(DropdownFilter):
    title = _("time")
    parameter_name = "since"
    HOURS = {"1h": 1, "24h": 24, "7d": 168}

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [("1h", _("last hour")), ("24h", _("last 24 hours")), ("7d", _("last 7 days"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[RejectedSignal]) -> QuerySet[RejectedSignal]:
        hours = self.HOURS.get(self.value() or "")
        return queryset.filter(recorded_at__gte=timezone.now() - timedelta(hours=hours)) if hours else queryset


class SensorIdFilter(TextFilter):
    title = _("sensor")
    parameter_name = "sensor_id"

    def queryset(self, request: HttpRequest, queryset: QuerySet[RejectedSignal]) -> QuerySet[RejectedSignal]:
        chosen = (self.value() or "").strip()
        return queryset.filter(sensor_id=chosen) if chosen else queryset
