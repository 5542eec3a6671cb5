"""Import a table in the admin: upload, preview, confirm, report."""

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
from sensors.errors import BadLines
from sensors.models import Sensor
from sensors.services.changes import COLUMNS
from sensors.services.imports import ImportPlan, PlannedLine, import_sensors, plan_import
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

    @property
    def faults(self) -> list[Any]:
        return self.plan.faults[:FAULTS_SHOWN]

    @property
    def bad(self) -> int:
        return len({fault.line for fault in self.plan.faults})


def import_page(model_admin: ModelAdmin[Sensor], request: HttpRequest) -> HttpResponse:
    """Return the response of each step; they share one address, whose limit on the body is that of the file."""
    if request.method != "POST":
        return _page(model_admin, request, form=UploadForm())
    try:
        if "download" in request.POST:
            return _download(request)
        if "token" in request.POST:
            return _import(request)
        return _preview(model_admin, request)
    except BadLines:
        messages.error(request, gettext("The registry has changed since; nothing has been imported. Look again."))
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
    token, owner = request.POST["token"], _owner(request)
    report = import_sensors(content=read_upload(token, owner=owner), actor=actor_of(request))
    drop_upload(token, owner=owner)
    words = gettext("Imported: %(created)d registered, %(changed)d changed, %(unchanged)d unchanged.")
    messages.success(request, words % vars(report))
    return HttpResponseRedirect(reverse("admin:sensors_sensor_changelist"))


def _download(request: HttpRequest) -> HttpResponse:
    """Return every bad line as CSV, however many there are."""
    plan = plan_import(read_upload(request.POST["token"], owner=_owner(request)))
    rows = [("line", "field", "rule"), *((fault.line, fault.field, fault.rule) for fault in plan.faults)]
    headers = {
        "Content-Disposition": 'attachment; filename="bad-lines.csv"',
        "Content-Security-Policy": "sandbox; default-src 'none'",
    }
    return HttpResponse(write_csv(rows), content_type="text/csv; charset=utf-8", headers=headers)


def _owner(request: HttpRequest) -> str:
    return str(request.user.pk)


def _page(model_admin: ModelAdmin[Sensor], request: HttpRequest, **context: Any) -> HttpResponse:
    frame = model_admin.admin_site.each_context(request)
    shared = {"opts": model_admin.opts, "title": gettext("Import sensors"), "media": model_admin.media}
    return TemplateResponse(request, "admin/sensors/sensor/import.html", {**frame, **shared, **context})
