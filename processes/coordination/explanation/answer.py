"""Answer `?change_set=&reader=`: why does a reader not have a change set?"""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext

from config.access.scopes import Scope
from config.audit.explain import Asker, Evidence, Explanation, Question, link_trace
from config.common.database.sql import in_array
from config.common.errors import Invalid
from config.common.times import format_time
from processes.coordination.admin.presentation import STATUSES
from processes.coordination.coordinator.activation import IN_LINE
from processes.coordination.coordinator.liveness import HEARTBEAT_VALID_FOR
from processes.coordination.errors import EventNotFound, ReaderNotFound
from processes.coordination.explanation.verdict import Case, Decision, Verdict, decide
from processes.coordination.explanation.words import write_sentence
from processes.coordination.models import AppEvent, HeldRow, RoleLife, WriterEvent, WriterEventReader
from processes.coordination.protocol.reasons import format_reason
from processes.coordination.protocol.statuses import FINAL
from processes.coordination.roles import role_names
from processes.coordination.selectors import EventOverview, ReaderOverview, view_events

SEE = "coordination.view_appevent"


def explain_change_set(asked: Mapping[str, Any], asker: Asker) -> Explanation:
    """Explain why a reader does not have a change set, or say since when it has."""
    event = AppEvent.objects.filter(pk=asked["change_set"]).first()
    if event is None:
        raise EventNotFound
    view = view_events([event])[0]
    reader = _choose_reader(view, asked.get("reader", ""))
    progress = dict(WriterEventReader.objects.filter(writer_event=event.pk).values_list("name", "progress"))
    case = Case(view, reader, _find_silent(timezone.now()), progress, _find_behind(view))
    decision = decide(case)
    page = (gettext("Change set %(number)s") % {"number": event.pk}, _page(event.pk))
    words = gettext("Why does reader “%(reader)s” not have change set %(number)s?")
    return Explanation(
        words % {"reader": reader.name, "number": event.pk},
        decision.verdict.value,
        write_sentence(case, decision, asker.show_time),
        decision.since,
        None,
        tuple(_evidence(case, decision)),
        about=(page, *link_trace(event.correlation_id)),
    )


CHANGE_SET_QUESTION = Question(
    "change_set",
    Scope.COORDINATION,
    explain_change_set,
    permission=SEE,
    takes=("reader",),
    verdicts=tuple(verdict.value for verdict in Verdict),
    good=frozenset({Verdict.HAS_IT.value}),
    errors=(EventNotFound, ReaderNotFound),
)


def _choose_reader(view: EventOverview, name: str) -> ReaderOverview:
    """Return the reader that was named; without a name the first that does not have it."""
    if not name:
        return min(view.readers, key=lambda reader: reader.verdict == "committed")
    found = next((reader for reader in view.readers if reader.name == name), None)
    if found is None:
        known = ", ".join(reader.name for reader in view.readers)
        raise Invalid({"reader": [gettext("Must be one of %(known)s.") % {"known": known}]})
    return found


def _find_silent(at: datetime) -> list[tuple[str, datetime | None]]:
    seen = dict(RoleLife.objects.values_list("name", "seen_at"))
    return [
        (name, seen.get(name)) for name in role_names() if name not in seen or seen[name] <= at - HEARTBEAT_VALID_FOR
    ]


def _find_behind(view: EventOverview) -> int | None:
    """Return the change set that must end before this one: it keeps a row of it, or is before it in the line."""
    coordinated = view.coordinated
    if coordinated is None:
        return None
    if coordinated.is_behind:
        kept = HeldRow.objects.filter(key__in=in_array(coordinated.touched), position__lt=coordinated.position)
        return kept.order_by("position").values_list("writer_event_id", flat=True).first()
    line = WriterEvent.objects.filter(position__lt=coordinated.position, **IN_LINE)
    line = line.exclude(app_event_status_id__in=[status.value for status in FINAL])
    return line.order_by("position").values_list("pk", flat=True).first()


def _page(event_id: int) -> str:
    return reverse("admin:coordination_appevent_change", args=[event_id])


def _evidence(case: Case, decision: Decision) -> Iterator[Evidence]:
    view = case.view
    event = view.event
    data = {"type": view.type, "status": view.status.title, "reason": format_reason(event.reason)}
    status = gettext("Change set: %(status)s") % {"status": STATUSES[view.status]}
    yield Evidence(event.date, "coordination", event.pk, status, SEE, data, _page(event.pk))
    for reader in view.readers:
        ended_at = "" if reader.ended_at is None else format_time(reader.ended_at)
        data = {"verdict": reader.verdict, "reason": format_reason(reader.reason), "ended_at": ended_at}
        summary = f"{reader.name}: {WriterEventReader.Verdict(reader.verdict).label}"
        yield Evidence(
            reader.ended_at or reader.answered_at, "reader", reader.name, summary, SEE, data, _page(event.pk)
        )
    if decision.verdict in (Verdict.BEHIND, Verdict.IN_LINE) and case.behind is not None:
        summary = gettext("The change set ahead of it")
        yield Evidence(None, "coordination", case.behind, summary, SEE, {}, _page(case.behind))
    for name, seen_at in case.silent if decision.verdict == Verdict.ROLE_SILENT else ():
        yield Evidence(seen_at, "role", name, gettext("Last heartbeat"), SEE)
