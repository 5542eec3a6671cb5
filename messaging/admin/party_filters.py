from typing import Any

from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from config.admin_base.theme import DropdownFilter
from messaging.models import Device, ExchangeDatabase


class ActiveFilter(DropdownFilter):
    """Filters enterprises, devices and databases; those of an inactive enterprise count as inactive."""

    title = _("active")
    parameter_name = "active"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [("1", _("active")), ("0", _("inactive"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if self.value() not in ("0", "1"):
            return queryset
        owner = {Device: "subsystem__enterprise__active", ExchangeDatabase: "enterprise__active"}.get(queryset.model)
        active = Q(active=True) if owner is None else Q(active=True, **{owner: True})
        return queryset.filter(active if self.value() == "1" else ~active)
