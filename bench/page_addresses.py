"""The address of every page of the admin and of every reading call, from the URL table and the schema.

Nothing is listed by hand: a page that is added is measured.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any
from urllib.parse import urlencode

from django.contrib import admin
from django.contrib.admin.utils import quote
from django.db.models import Model
from django.urls import URLPattern, URLResolver, get_resolver
from drf_spectacular.generators import SchemaGenerator

from config.common.times import format_time
from config.records.models import ChangeRecord
from messaging.models import Device, Enterprise, ExchangeDatabase, Message, Subsystem
from notifications.models import Alert, Delivery, Event, RepeatSession, Theme
from processes.coordination.models import AppEvent
from processes.exchange.models import ExchangeProcess
from processes.workflows.models import (
    WorkflowBatch,
    WorkflowDefinition,
    WorkflowDraft,
    WorkflowInstance,
    WorkflowVersion,
)
from sensors.events import STATE_CHANGED
from sensors.models import Client, Sensor

ADMIN = "admin/"
NO_PAGES = frozenset({"login", "logout", "view_on_site", "jsi18n", "autocomplete"})
"""Names under the admin that show nothing by themselves; what has no name only leads elsewhere."""
_PARAMETER = re.compile(r"<(?:\w+:)?(\w+)>")
_BRACES = re.compile(r"\{(\w+)\}")
_REGEX = re.compile(r"[\\^$?*]|\(\?P")
ROWS: dict[str, type[Model]] = {
    "sensor_id": Sensor,
    "client_id": Client,
    "delivery_id": Delivery,
    "alert_id": Alert,
    "session_id": RepeatSession,
    "theme": Theme,
    "event_id": AppEvent,
    "process_id": ExchangeProcess,
    "instance_id": WorkflowInstance,
    "draft_id": WorkflowDraft,
    "batch_id": WorkflowBatch,
    "key": WorkflowDefinition,
    "change_id": ChangeRecord,
    "message_id": Message,
}
_PROCESS = "admin/exchange/exchangeprocess/<path:object_id>"
SUITED: dict[str, dict[str, str]] = {
    f"{_PROCESS}/committed/": {"status": "IN_DOUBT"},
    f"{_PROCESS}/not-committed/": {"status": "IN_DOUBT"},
    f"{_PROCESS}/retry/": {"status": "FAILED"},
    f"{_PROCESS}/go-on/": {"status": "FAILED"},
    "admin/notifications/repeatsession/<path:object_id>/revive/": {"status": "exhausted"},
    "admin/messaging/message/<path:object_id>/set-aside/": {"status": "waiting"},
}
"""Questions that are asked of rows in one state alone."""
PARTIES: dict[str, type[Model]] = {
    "enterprises": Enterprise,
    "subsystems": Subsystem,
    "devices": Device,
    "databases": ExchangeDatabase,
}
WORDS = {
    "correlation_id": "correlation-1",
    "number": "1",
    "other": "1",
    "filter_id": "1",
    "path": "dummy-items",
    "row": "1",
    "item": "1",
    "command": "start",
}


def _ask_about_a_change() -> str:
    """Ask why a client was not notified of a change: the way through most of the tables that an answer may read."""
    event = Event.objects.filter(type=STATE_CHANGED).order_by("-pk").first()
    client = Client.objects.order_by("pk").first()
    if event is None or client is None:
        return ""
    return f"sensor={event.subject.removeprefix('sensor/')}&client={client.pk}&at={format_time(event.at)}"


def _compare_versions() -> str:
    versions = WorkflowVersion.objects.filter(instance=_first(WorkflowInstance)).order_by("number")
    numbers = list(versions.values_list("number", flat=True))
    return f"from={numbers[0]}&to={numbers[-1]}"


QUESTIONS: dict[str, Callable[[], str]] = {
    "explain/": _ask_about_a_change,
    "trace/": lambda: "id=correlation-1",
    "search/": lambda: "s=Street",
    "workflowinstance/<uuid:instance_id>/compare/": _compare_versions,
    "subsystem/choices/": lambda: "app_label=messaging&model_name=device&field_name=subsystem&term=Sub",
}
"""Pages and calls that answer a question: the end of the address, and what is asked."""
MORE_QUESTIONS = {"admin/search/": "s=Nothing+has+this"}
"""By the route: what costs most where nothing is found, so that all is looked through."""


@dataclass(frozen=True)
class Page:
    name: str
    """Its route, the same whatever the rows are."""
    address: str
    """Empty where there is no row to open it with."""

    @property
    def is_download(self) -> bool:
        """Whether it is a file of any length, which its reader does not wait for before a page."""
        return self.name.endswith("/export/")

    @property
    def is_for_people(self) -> bool:
        return self.name.startswith(ADMIN)


def admin_pages() -> Iterator[Page]:
    """Yield every page of the admin; where it is about one row, with the first of its model."""
    for route, pattern in _routes(get_resolver().url_patterns):
        if not route.startswith(ADMIN) or _REGEX.search(route) or (pattern.name or "login") in NO_PAGES:
            continue
        values = {name: _admin_value(name, route) for name in _PARAMETER.findall(route)}
        is_known = None not in values.values()
        yield Page(route, _ask(route, f"/{_fill(_PARAMETER, route, values)}") if is_known else "")
        if route in MORE_QUESTIONS:
            yield Page(f"{route}?{MORE_QUESTIONS[route]}", f"/{route}?{MORE_QUESTIONS[route]}")


def reading_calls() -> Iterator[Page]:
    """Yield every GET of the schema, about the first row where it is about one."""
    for path, operations in _document()["paths"].items():
        if "get" not in operations:
            continue
        values = {name: _call_value(name, path) for name in _BRACES.findall(path)}
        address = _fill(_BRACES, path, values)
        asked = [each for each in operations["get"].get("parameters", []) if each["in"] == "query"]
        required = {each["name"]: _query_values(each) for each in asked if each.get("required")}
        if not required:
            yield Page(f"GET {path}", _ask(path, address))
            continue
        queries = [urlencode(dict(zip(required, chosen, strict=True))) for chosen in product(*required.values())]
        for query in queries:
            yield Page(f"GET {path}?{query}" if len(queries) > 1 else f"GET {path}", f"{address}?{query}")


@cache
def _document() -> dict[str, Any]:
    found: dict[str, Any] = SchemaGenerator().get_schema(public=True)  # type: ignore[no-untyped-call]
    return found


def _ask(route: str, address: str) -> str:
    asked = next((ask() for end, ask in QUESTIONS.items() if route.endswith(f"/{end}")), "")
    return f"{address}?{asked}" if asked else address


def _fill(parameter: re.Pattern[str], route: str, values: Mapping[str, str | None]) -> str:
    return parameter.sub(lambda found: str(values[found[1]]), route)


def _routes(patterns: list[URLPattern | URLResolver], before: str = "") -> Iterator[tuple[str, URLPattern]]:
    for pattern in patterns:
        route = before + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from _routes(pattern.url_patterns, route)
        else:
            yield route, pattern


def _admin_value(name: str, route: str) -> str | None:
    """Return what stands in the address; None where there is no row of the model, or nobody knows what it means."""
    app_label, model_name = [*route.removeprefix(ADMIN).split("/"), ""][:2]
    models = {(model._meta.app_label, model._meta.model_name): model for model in admin.site._registry}
    model = models.get((app_label, model_name))
    if name in ("object_id", "id", "pk") and model is not None:
        row = model._default_manager.filter(**SUITED.get(route, {})).order_by("pk").first()
        return None if row is None else str(quote(row.pk))
    if name in ROWS:
        return str(_first(ROWS[name]))
    return WORDS.get(name)


def _call_value(name: str, path: str) -> str:
    if name == "party_id":
        return str(_first(next(model for word, model in PARTIES.items() if f"/{word}/" in path)))
    if name == "message_id":
        return str(Message.objects.order_by("pk").values_list("public_id", flat=True)[0])
    if name in ROWS:
        return str(_first(ROWS[name]))
    if name in WORDS:
        return WORDS[name]
    raise LookupError(f"nobody knows what stands for {{{name}}} in the call {path}")


def _first(model: type[Model]) -> Any:
    return model._default_manager.order_by("pk").values_list("pk", flat=True)[0]


def _query_values(parameter: dict[str, Any]) -> list[str]:
    """Return what is asked of a required parameter: of a choice everything."""
    name, schema = parameter["name"], parameter.get("schema", {})
    if "enum" in schema:
        return [str(value) for value in schema["enum"]]
    if name in ROWS or name.removesuffix("_id") + "_id" in ROWS:
        return [str(_first(ROWS.get(name) or ROWS[f"{name.removesuffix('_id')}_id"]))]
    return [{"integer": "1", "boolean": "true"}.get(schema.get("type", ""), "s1")]
