"""Import a table in the admin: a sample to begin with, upload, preview, import of all or of the good lines, report."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext

from config.admin_base.pages import actor_of, explain
from config.admin_base.theme import ModelAdmin
from config.common.errors import ApplicationError
from sensors.admin.forms import UploadForm
from sensors.errors import BadLines, LineFault
from sensors.models import Client, Sensor
from sensors.services.changes import COLUMNS
from sensors.services.imports import (
    ImportPlan,
    PlannedLine,
    import_good_lines,
    import_sensors,
    list_refused,
    plan_import,
)
from sensors.services.sheets import COLUMNS as FILE_COLUMNS
from sensors.services.sheets import write_csv
from sensors.services.uploads import drop_upload, read_upload, save_upload
from sensors.services.values import SensorValues

SHOWN = 100
FAULTS_SHOWN = 500


@dataclass(frozen=True)
class Cell:
    name: str
    before: str
    after: str


@dataclass(frozen=True)
class Preview:
    """A plan as the page shows it: its numbers, and the first lines."""

    token: str
    plan: ImportPlan
    lines: list[tuple[PlannedLine, list[Cell]]]

    is_done: bool = False
    """Whether the good lines have been imported."""

    @property
    def faults(self) -> list[LineFault]:
        return self.plan.faults[:FAULTS_SHOWN]

    @property
    def bad(self) -> int:
        return self.plan.bad


def import_page(model_admin: ModelAdmin[Sensor], request: HttpRequest) -> HttpResponse:
    """Return the response of each step; they share one address, whose limit on the body is that of the file."""
    if request.method != "POST":
        if "sample" in request.GET:
            return _answer_csv("sensors-sample.csv", sample_rows(Client.objects.order_by("pk").first()))
        return _page(model_admin, request, form=UploadForm())
    try:
        if "download" in request.POST:
            # Every refused line, however many there are.
            content = read_upload(_token(request), owner=_owner(request))
            return _answer_csv("refused-lines.csv", list_refused(content, plan_import(content)))
        if "good" in request.POST:
            return _import_good(model_admin, request)
        if "token" in request.POST:
            return _import(request)
        return _preview(model_admin, request)
    except BadLines:
        messages.error(
            request, gettext("The registry has changed since; nothing has been imported. Check the preview again.")
        )
    except ApplicationError as error:
        rules = [rule for rules in error.data.get("fields", {}).values() for rule in rules]
        messages.error(request, " ".join(rules) or explain(error))
    return HttpResponseRedirect(request.path)


def _preview(model_admin: ModelAdmin[Sensor], request: HttpRequest) -> HttpResponse:
    form = UploadForm(request.POST, request.FILES)
    if not form.is_valid():
        return _page(model_admin, request, form=form)
    content = form.cleaned_data["file"].read()
    plan = plan_import(content)
    token = save_upload(content, owner=_owner(request))
    shown = [line for line in plan.lines if line.is_change][:SHOWN]
    preview = Preview(token, plan, [(line, compare(line.before, line.after)) for line in shown])
    return _page(model_admin, request, preview=preview, report=plan.report())


def compare(before: SensorValues | None, after: SensorValues) -> list[Cell]:
    """Return what the line would change, cell by cell, as the file writes it."""
    cells = [
        Cell(name, "" if before is None else _word(getattr(before, name)), _word(getattr(after, name)))
        for name in (*COLUMNS, "clients")
    ]
    return [cell for cell in cells if cell.before != cell.after]


def _word(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return " ".join(map(str, value))
    return "" if value is None else str(value)


def _import(request: HttpRequest) -> HttpResponse:
    token, owner = _token(request), _owner(request)
    report = import_sensors(content=read_upload(token, owner=owner), actor=actor_of(request))
    drop_upload(token, owner=owner)
    words = gettext("Imported: %(created)d registered, %(changed)d changed, %(unchanged)d unchanged.")
    messages.success(request, words % vars(report))
    return HttpResponseRedirect(reverse("admin:sensors_sensor_changelist"))


def _import_good(model_admin: ModelAdmin[Sensor], request: HttpRequest) -> HttpResponse:
    """Import the good lines and show the others; the file stays for its hour, so that these can be downloaded."""
    token = _token(request)
    report, plan = import_good_lines(content=read_upload(token, owner=_owner(request)), actor=actor_of(request))
    return _page(model_admin, request, preview=Preview(token, plan, [], is_done=True), report=report)


def sample_rows(client: Client | None) -> list[tuple[str, ...]]:
    """Return a table that can be imported as it is, linked to this client where there is one."""
    # A name that the file could not tell from ids, or from two names, is written as the id.
    by_name = client is not None and ";" not in client.name and not client.name.replace(" ", "").isdigit()
    clients = "" if client is None else client.name if by_name else str(client.pk)
    return [
        FILE_COLUMNS,
        ("A1", "12 Harbour Road, main gate", "Oak door, left wing", "true", "3600", clients, "900"),
        ("A2", "12 Harbour Road, side door", "", "true", "600", "", ""),
    ]


def _answer_csv(name: str, rows: Iterable[Iterable[object]]) -> HttpResponse:
    headers = {
        "Content-Disposition": f'attachment; filename="{name}"',
        "Content-Security-Policy": "sandbox; default-src 'none'",
    }
    return HttpResponse(write_csv(rows), content_type="text/csv; charset=utf-8", headers=headers)


def _token(request: HttpRequest) -> str:
    return request.POST.get("token", "")


def _owner(request: HttpRequest) -> str:
    return str(request.user.pk)


def _page(model_admin: ModelAdmin[Sensor], request: HttpRequest, **context: Any) -> HttpResponse:
    frame = model_admin.admin_site.each_context(request)
    shared = {"opts": model_admin.opts, "title": gettext("Import sensors"), "media": model_admin.media}
    return TemplateResponse(request, "admin/sensors/sensor/import.html", {**frame, **shared, **context})
