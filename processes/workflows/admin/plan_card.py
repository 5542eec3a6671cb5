"""The plan of a case on the page of its instance: every item below its stage, with the commands staff may give."""

from collections import defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import datetime

from django.urls import reverse

from processes.workflows.admin.presentation import ITEM_COMMANDS, kind_label
from processes.workflows.diagrams import state_label
from processes.workflows.engine import state_queries
from processes.workflows.engine.cases.commands import list_allowed_commands
from processes.workflows.engine.definition import Definition, Node, NodeKind
from processes.workflows.engine.execution.records import InstanceState, ItemRecord, sequence_number
from processes.workflows.heads import Head
from processes.workflows.models import WorkItem
from processes.workflows.services.definitions.library import library_for

MOST_ITEMS = 300
DEEPEST = 5
"""Deeper stages are not indented any further."""


@dataclass(frozen=True)
class Offer:
    """A command that staff may give an item."""

    label: str
    address: str
    is_frequent: bool
    is_link: bool
    """It leads to a page with a question or a form; else it is run at once."""


@dataclass(frozen=True)
class PlanItem:
    name: str
    element: str
    kind: str
    state: str
    state_label: str
    since: datetime
    is_required: bool
    repeats: bool
    depth: int
    offers: list[Offer]


@dataclass(frozen=True)
class PlanCard:
    items: list[PlanItem]
    more: int


def build_plan_card(head: Head, *, may_act: bool) -> PlanCard | None:
    """Build the card of an instance; None where it has no case in it."""
    state = head.state
    if state is None or not state.get("items"):
        return None
    rows = list(_walk_tree(state))
    shown = rows[:MOST_ITEMS]
    offered = list_allowed_commands(library_for(None), state) if may_act else {}
    forms = _find_forms(head, state, [key for key, _ in shown if "complete_item" in offered.get(key, ())])
    items = [_item(head, state, key, depth, offered.get(key, ()), forms) for key, depth in shown]
    return PlanCard(items, more=len(rows) - len(shown))


def name_item(state: InstanceState, record: ItemRecord) -> str:
    """Return the name of an item, or the id of its element where it has none."""
    node = _get_node(state, record)
    return " ".join(node.name.split()) or node.id


def _walk_tree(state: InstanceState) -> Iterator[tuple[str, int]]:
    """Yield the items with their depths: each before those in it, in the order of the file, the oldest first."""
    below: defaultdict[str | None, list[str]] = defaultdict(list)
    for key in sorted(
        state["items"], key=lambda key: (_get_node(state, state["items"][key]).line, sequence_number(key))
    ):
        below[_find_parent(state, key)].append(key)
    waiting = [(key, 0) for key in reversed(below[None])]
    while waiting:
        key, depth = waiting.pop()
        yield key, min(depth, DEEPEST)
        waiting += [(child, depth + 1) for child in reversed(below[key])]


def _find_parent(state: InstanceState, key: str) -> str | None:
    """Return the item around an item: its stage, or the task that runs its case, also by way of a process."""
    owner = state["scopes"][state["items"][key]["scope"]]["token"]
    while owner is not None and owner not in state["items"]:
        owner = state["scopes"][state["tokens"][owner]["scope"]]["token"]
    return owner


def _find_forms(head: Head, state: InstanceState, keys: Collection[str]) -> dict[str, str]:
    """Return the pages of the tasks that have a form, by the item of each."""
    owners = {
        local: task["token"]
        for local, task in state.get("tasks", {}).items()
        if task["token"] in keys and _get_node(state, state["items"][task["token"]]).form
    }
    if not owners:
        return {}
    rows = WorkItem.objects.filter(instance=head.id, local__in=owners, status=WorkItem.Status.OPEN)
    return {
        owners[local]: reverse("admin:workflows_workitem_change", args=[pk])
        for local, pk in rows.values_list("local", "pk")
    }


def _item(
    head: Head, state: InstanceState, key: str, depth: int, commands: Collection[str], forms: dict[str, str]
) -> PlanItem:
    record = state["items"][key]
    definition, node = _get_definition(state, record), _get_node(state, record)
    assert definition.plan is not None
    if depth == 0 and node.kind is NodeKind.CASE_PLAN and state["kind"] == "cmmn":
        # The whole case is suspended and terminated by the buttons of its instance.
        commands = [name for name in commands if name == "complete_item"]
    return PlanItem(
        name=name_item(state, record),
        element=node.id,
        kind=kind_label(node.kind),
        state=record["state"],
        state_label=state_label(record["state"]),
        since=datetime.fromisoformat(record["since"]),
        is_required=record.get("required", False),
        repeats=definition.plan.items[node.id].repetition is not None,
        depth=depth,
        offers=[_offer(head, key, name, forms) for name in commands],
    )


def _offer(head: Head, key: str, name: str, forms: dict[str, str]) -> Offer:
    wording = ITEM_COMMANDS[name]
    form = forms.get(key) if name == "complete_item" else None
    address = form or reverse("admin:workflows_instance_item", args=[head.id, key, name])
    return Offer(
        str(wording.label), address, wording.is_frequent, is_link=form is not None or wording.needs_confirmation
    )


def _get_definition(state: InstanceState, record: ItemRecord) -> Definition:
    return state_queries.get_definition(state, library_for(None), record["scope"])


def _get_node(state: InstanceState, record: ItemRecord) -> Node:
    return _get_definition(state, record).nodes[record["element"]]
