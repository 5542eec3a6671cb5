"""The page of an instance: its diagram, open work, incidents, variables and version tree."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.http import HttpRequest
from django.urls import reverse
from django.utils.safestring import SafeString

from config.admin_base.times import format_local
from notifications.event_titles import event_title_html
from processes.workflows.admin.drawings import Drawing, draw_state, find_definitions, get_element_names
from processes.workflows.admin.plan_card import PlanCard, build_plan_card
from processes.workflows.admin.presentation import describe_cause, status_badge, time_html, wait_label
from processes.workflows.admin.values import ShownValues, show_values
from processes.workflows.admin.version_tree.draw import Addresses
from processes.workflows.admin.version_tree.draw import draw_tree as draw_svg
from processes.workflows.admin.version_tree.lanes import draw_tree
from processes.workflows.admin.version_tree.layout import lay_out
from processes.workflows.engine import difference, state_queries
from processes.workflows.engine.runner import InstanceState
from processes.workflows.heads import Head, get_head
from processes.workflows.models import WorkflowIncident, WorkflowInstance, WorkflowVersion, WorkItem
from processes.workflows.reasons import translate_reason
from processes.workflows.selectors import find_open_incidents, find_returns, list_versions

MOST_OPEN = 100
"""How many tasks, timers, events and incidents a page lists at most, of each."""
VERSIONS = 25
MOST_RETURNS = 1000
FORMS = (WorkItem.Kind.USER, WorkItem.Kind.MANUAL, WorkItem.Kind.RECEIVE)
"""Tasks that a person completes here."""


@dataclass(frozen=True)
class OpenTask:
    item: WorkItem
    is_for_people: bool


@dataclass(frozen=True)
class Waiting:
    """A timer or an event that is waited for."""

    element: str
    name: str
    kind: str
    what: SafeString | str
    """The time it fires at, or the name of the event."""


@dataclass(frozen=True)
class Version:
    row: WorkflowVersion
    cause: str
    cells: list[str]
    is_current: bool
    badge: SafeString
    may_return: bool


@dataclass(frozen=True)
class Tree:
    versions: list[Version]
    older: int | None
    """The next page begins below this version."""
    is_first: bool
    drawing: SafeString | str
    """The same as a picture, with the versions around every return; empty of a single version."""


@dataclass(frozen=True)
class InstancePage:
    head: Head
    badge: SafeString
    drawings: list[Drawing]
    plan: PlanCard | None
    incidents: Sequence[tuple[WorkflowIncident, str, str]]
    """With the name of the element and the reason in words."""
    """Each with its reason in the reader's language."""
    tasks: list[OpenTask]
    timers: list[Waiting]
    events: list[Waiting]
    values: ShownValues
    names: Mapping[str, str]
    tree: Tree
    may_act: bool


def build_instance_page(request: HttpRequest, instance: WorkflowInstance, *, may_act: bool) -> InstancePage:
    head = get_head(instance.pk)
    state: InstanceState = head.state or {}
    own = (head.definition, head.revision)
    incidents = find_open_incidents([head.id]).get(head.id, [])[:MOST_OPEN] if head.open_incidents else []
    names = get_element_names(find_definitions(state) or [own])
    drawings = draw_state(
        head.id, head.number, head.state, own=own, incidents=[incident.element for incident in incidents]
    )
    open_items = WorkItem.objects.filter(instance=head.id, status=WorkItem.Status.OPEN).order_by("pk")
    return InstancePage(
        head=head,
        badge=status_badge(head.status),
        # The elements of a case without a diagram are not listed: its plan shows them all.
        drawings=[each for each in drawings if each.address or not any(element.state for element in each.elements)],
        plan=build_plan_card(head, may_act=may_act),
        incidents=[
            (incident, names.get(incident.element, incident.element), translate_reason(incident.reason))
            for incident in incidents
        ],
        tasks=[OpenTask(item, item.kind in FORMS) for item in open_items[:MOST_OPEN]],
        timers=_timers(state, names),
        events=_events(state, names),
        values=show_values(all_variables(state)),
        names=names,
        tree=_tree(request, head, names, may_act=may_act),
        may_act=may_act,
    )


def all_variables(state: InstanceState) -> dict[str, object]:
    """Return all variables of an instance by name, those of inner scopes by their path."""
    return dict(difference.compare_states({}, state)["variables"]["added"])


def _timers(state: InstanceState, names: Mapping[str, str]) -> list[Waiting]:
    """List the timers, the next one first."""
    found = [(datetime.fromisoformat(timer["due"]), timer) for timer in state_queries.list_timers(state)]
    return [
        Waiting(timer["element"], names.get(timer["element"], ""), wait_label(timer["kind"]), time_html(due))
        for due, timer in sorted(found, key=lambda pair: pair[0])[:MOST_OPEN]
    ]


def _events(state: InstanceState, names: Mapping[str, str]) -> list[Waiting]:
    return [
        Waiting(
            each["element"], names.get(each["element"], ""), wait_label(each["kind"]), event_title_html(each["name"])
        )
        for each in list(state.get("subscriptions", {}).values())[:MOST_OPEN]
    ]


def _tree(request: HttpRequest, head: Head, names: Mapping[str, str], *, may_act: bool) -> Tree:
    text = request.GET.get("before", "")
    below = int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0
    rows = list_versions(head.id).defer("revision__source", "skeleton", "bodies")
    found = list((rows.filter(number__lt=below) if below else rows)[: VERSIONS + 1])
    shown = found[:VERSIONS]
    # Never returned: there is no need to look.
    returns = find_returns(head.id, most=MOST_RETURNS) if head.epoch else {}
    drawn = draw_tree([(row.number, row.parent) for row in shown], head=head.number, returns=returns)
    width = max((len(line.cells) for line in drawn), default=0)
    versions = [
        Version(
            row,
            describe_cause(row.cause, names),
            line.cells + [""] * (width - len(line.cells)),
            line.is_current,
            status_badge(row.status),
            may_return=may_act and row.number != head.number and row.cause != "created",
        )
        for row, line in zip(shown, drawn, strict=True)
    ]
    older = shown[-1].number if len(found) > VERSIONS else None
    drawing = _draw(head, returns, names) if head.number > 1 else ""
    return Tree(versions, older, is_first=not below, drawing=drawing)


def _draw(head: Head, returns: Mapping[int, int], names: Mapping[str, str]) -> SafeString:
    """Draw the tree: of the versions that are drawn, one query reads what happened, when, and by whom."""
    nodes = lay_out(head.number, returns)
    rows = WorkflowVersion.objects.filter(instance=head.id, number__in=[node.number for node in nodes])
    titles = {
        number: " · ".join(filter(None, [describe_cause(cause, names), format_local(at), actor]))
        for number, cause, at, actor in rows.values_list("number", "cause", "at", "actor")
    }
    addresses = Addresses(
        version=lambda number: reverse("admin:workflows_instance_version", args=[head.id, number]),
        older=lambda number: f"?before={number}#versions",
    )
    return draw_svg(nodes, titles, addresses)
