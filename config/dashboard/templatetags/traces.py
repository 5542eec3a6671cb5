"""The way from the page of a row to its trace."""

from typing import Any

from django import template
from django.contrib.auth.models import Group, User
from django.db.models import Model
from django.template.context import RequestContext
from django.urls import reverse

from config.common.correlation import PATTERN
from config.records.models import AccessKey, ChangeRecord
from messaging.models import Device, Enterprise, ExchangeDatabase, Subsystem
from notifications.models import Rung, Theme
from processes.workflows.models import WorkflowDefinition
from sensors.models import Client, Sensor

register = template.Library()
SUBJECTS: dict[type[Model], str] = {
    Sensor: "sensor",
    Client: "client",
    Device: "device",
    ExchangeDatabase: "database",
    Enterprise: "enterprise",
    Subsystem: "subsystem",
}
"""What the subjects of events about a row begin with: every change of it is an event."""
KINDS: dict[type[Model], str] = {
    AccessKey: "key",
    User: "account",
    Group: "group",
    WorkflowDefinition: "workflow",
    Theme: "theme",
    Rung: "rung",
}
"""As the change log calls what there are no events about."""


@register.simple_tag(takes_context=True)
def trace_page_of_row(context: RequestContext) -> str:
    """Return the address of the trace of the row that the page is about; empty where it has none."""
    row: Any = context.get("traced") or context.get("original")
    user = getattr(context.get("request"), "user", None)
    if row is None or user is None or not user.has_perm("notifications.view_event"):
        return ""
    if prefix := SUBJECTS.get(type(row)):
        return reverse("trace-page", query={"of": f"{prefix}/{row.pk}"})
    kind = KINDS.get(type(row)) if user.has_perm("records.view_changerecord") else None
    chain = _find_last_change(kind, row) if kind else getattr(row, "correlation_id", "")
    return reverse("trace-page", query={"id": chain}) if isinstance(chain, str) and PATTERN.fullmatch(chain) else ""


def _find_last_change(kind: str, row: Model) -> str:
    """Return the correlation id of the newest change of a row; empty where there is none, or it has none."""
    changes = ChangeRecord.objects.filter(kind=kind, object_id=str(row.pk)).exclude(correlation_id="").order_by("-pk")
    return changes.values_list("correlation_id", flat=True).first() or ""
