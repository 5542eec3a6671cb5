"""The page "Why not?": one question, one verdict, and the rows it rests on, each with the way to its page."""

import json
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.utils.formats import date_format
from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from config.admin_base.pages import explain as explain_error
from config.audit.api.explain import ExplainQuery
from config.audit.explain import MOST_EVIDENCE, Asker, Evidence, Explanation, find_question
from config.common.errors import ApplicationError, Invalid
from config.common.text import clean_text
from sensors.errors import ClientNotFound
from sensors.models import Client

CLIENTS_OFFERED = 100
LONGEST = 300
"""Of one parameter: an id of a task is the longest."""
KINDS: dict[str, Promise] = {
    "signal": _("signal"),
    "event": _("event"),
    "delivery": _("delivery"),
    "attempt": _("attempt"),
    "change": _("registry change"),
    "rejected": _("rejected signal"),
    "repeat": _("repeated signal"),
    "outage": _("outage"),
    "alert": _("alert"),
    "message": _("message"),
    "process": _("exchange process"),
    "request": _("request"),
    "log": _("log entry"),
    "workflow": _("workflow instance"),
    "task": _("task"),
    "timer": _("timer"),
    "subscription": _("subscription"),
    "incident": _("incident"),
    "version": _("version"),
    "coordination": _("change set"),
    "reader": _("reader"),
    "role": _("role"),
}


@dataclass(frozen=True)
class ExplainPage:
    sensor: str
    client: str
    at: str
    """The three as the form shows them."""
    clients: list[str]
    """The names of those that are linked with the sensor, to choose from."""
    faults: list[str]
    instance: str = ""
    task: str = ""
    """What the form about a task of an instance shows."""
    answer: Explanation | None = None
    is_good: bool = False
    evidence: tuple[tuple[Evidence, str], ...] = ()
    """Each row with its data as text."""

    @property
    def is_about_sensor(self) -> bool:
        """Whether the form is shown: the other questions are asked from the pages of their objects."""
        return self.answer is None or bool(self.sensor)


def explain_view(request: HttpRequest) -> HttpResponse:
    """Answer the question of the parameters; without them show the form alone."""
    context: dict[str, Any] = {
        **admin.site.each_context(request),
        "title": gettext("Why not?"),
        "page": _build(request),
    }
    return TemplateResponse(request, "dashboard/explain.html", context)


def _build(request: HttpRequest) -> ExplainPage:
    asked = {name: text for name in request.GET if (text := clean_text(request.GET.get(name, ""), LONGEST).strip())}
    question = find_question(asked)
    if question is not None and not question.may_open(request.user.has_perm):
        raise PermissionDenied
    # Names of clients are for those who may read what this question is about.
    page = _build_form(asked, names_clients=question is not None and "client" in question.parameters)
    if question is None:
        return page
    if any(name not in asked for name in question.needs):
        return page
    if "client" in asked:
        try:
            asked["client"] = _find_client(asked["client"])
        except ApplicationError as error:
            return replace(page, faults=_faults(error))
    # The time gets its offset: what the form sends is of the reader's own zone.
    time = _parse_time(asked.get("at", ""))
    query = ExplainQuery(data=asked if time is None else {**asked, "at": time.isoformat(timespec="milliseconds")})
    if not query.is_valid():
        return replace(page, faults=[str(rule) for rules in query.errors.values() for rule in rules])
    try:
        answer = question.explain(query.validated_data, Asker(show_time=show_time))
    except ApplicationError as error:
        return replace(page, faults=_faults(error))
    rows = [row for row in answer.evidence if request.user.has_perm(row.permission)][:MOST_EVIDENCE]
    is_good = answer.verdict in question.good
    return replace(page, answer=answer, is_good=is_good, evidence=tuple(_show_row(row) for row in rows))


def _show_row(row: Evidence) -> tuple[Evidence, str]:
    data = json.dumps(row.data, ensure_ascii=False, indent=2, sort_keys=True) if row.data else ""
    return replace(row, kind=str(KINDS.get(row.kind, row.kind))), data


def show_time(at: datetime) -> str:
    return date_format(timezone.localtime(at), "DATETIME_FORMAT")


def _build_form(asked: dict[str, str], *, names_clients: bool) -> ExplainPage:
    sensor, client = asked.get("sensor", ""), asked.get("client", "")
    if "at" in asked:
        time = _parse_time(asked["at"])
        at = asked["at"] if time is None else _format_input(time)
    else:
        at = _format_input(timezone.now().replace(second=0, microsecond=0))
    linked = Client.objects.filter(links__sensor=sensor).order_by("name", "pk") if sensor else Client.objects.none()
    clients = list(dict.fromkeys(linked.values_list("name", flat=True)[:CLIENTS_OFFERED])) if names_clients else []
    return ExplainPage(
        sensor,
        _name_client(client) if names_clients else client,
        at,
        clients,
        faults=[],
        instance=asked.get("instance", ""),
        task=asked.get("task", ""),
    )


def _name_client(text: str) -> str:
    """Return the name of a client that was asked about by its number, if it is the only one of that name."""
    if not _is_number(text):
        return text
    name = Client.objects.filter(pk=int(text)).values_list("name", flat=True).first()
    return text if name is None or Client.objects.filter(name=name).exclude(pk=int(text)).exists() else name


def _find_client(text: str) -> str:
    """Return the number of a client; people know its name."""
    if _is_number(text):
        return text
    found = list(Client.objects.filter(name=text).values_list("pk", flat=True)[:2])
    if not found:
        raise ClientNotFound
    if len(found) > 1:
        raise Invalid({"client": [gettext("Several clients have this name. Enter the number of the one you mean.")]})
    return str(found[0])


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 19


def _parse_time(text: str) -> datetime | None:
    """Return a time that can be written in every zone, or None; one without an offset is of the reader's zone."""
    try:
        time = parse_datetime(text)
        time = timezone.make_aware(time) if time is not None and timezone.is_naive(time) else time
        if time is not None:
            timezone.localtime(time), timezone.localtime(time, UTC)
    except (ValueError, OverflowError):  # the first and the last hours of the calendar are not in every zone
        return None
    return time


def _format_input(time: datetime) -> str:
    """Write a time as `datetime-local` takes it, with what it has below the minute."""
    local = timezone.localtime(time).replace(tzinfo=None)
    return local.isoformat(timespec="milliseconds" if local.microsecond else "seconds")


def _faults(error: ApplicationError) -> list[str]:
    fields = error.data.get("fields", {})
    return [rule for rules in fields.values() for rule in rules] or [explain_error(error)]
