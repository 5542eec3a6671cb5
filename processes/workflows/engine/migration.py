"""Another revision for a running instance: what it stands at is found there again, or the author says where.

Elements are mapped by their ids, unless the command names others. An element where something stands must be of the same
kind and lie in the same scope there. What was armed stays armed, timers with their times; events that only the new
revision has are armed, those it does not have any more are not. Definitions that are called keep their revisions.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from processes.workflows.engine.cases.items import create_item
from processes.workflows.engine.definition import Definition, Node, NodeKind, Trigger
from processes.workflows.engine.execution.errors import CommandRejected
from processes.workflows.engine.execution.flows import is_flow_over
from processes.workflows.engine.execution.records import InstanceState, Library
from processes.workflows.engine.execution.triggers import arm_event
from processes.workflows.engine.execution.unit_of_work import UnitOfWork

ARMED = ("timers", "subscriptions", "conditions")
_ARMABLE = (Trigger.TIMER, Trigger.MESSAGE, Trigger.SIGNAL, Trigger.CONDITION)


@dataclass(frozen=True, slots=True)
class Unmapped:
    """An element where something stands, and why it cannot go on in the other revision."""

    element: str
    name: str
    kind: str
    reason: str


class MigrationRejected(CommandRejected):
    """Some elements have no counterpart."""

    def __init__(self, unmapped: list[Unmapped]) -> None:
        named = ", ".join(f"“{each.name or each.element}”: {each.reason}" for each in unmapped[:5])
        super().__init__(f"The revision has no counterpart for {named}")
        self.unmapped = unmapped


def list_missing(old: Definition, new: Definition) -> list[Unmapped]:
    """Return the elements of a definition at which nothing could go on in another, unless a command says where."""
    compared = ((node, _find_difference(node, new.nodes.get(node.id), node.scope)) for node in old.nodes.values())
    return [Unmapped(node.id, node.name, node.kind.value, reason) for node, reason in compared if reason]


def begin_migration(library: Library, state: InstanceState, command: Mapping[str, Any], at: datetime) -> UnitOfWork:
    """Return the unit of work of an instance that has moved to another revision; its queue is to be run."""
    root = next(key for key, scope in state.get("scopes", {}).items() if scope["token"] is None)
    key, revision = state["scopes"][root]["definition"]
    if command["revision"] == revision:
        raise CommandRejected("The instance runs this revision already.")
    old, (new, number) = library(key, revision)[0], library(key, command["revision"])
    if old.kind != new.kind:
        raise CommandRejected("The revision is of another notation.")
    move = _Move(state, root, old, new, dict(command.get("elements") or {}))
    unmapped = list(move.find_unmapped())
    if unmapped:
        raise MigrationRejected(unmapped)
    moved = move.build_state([key, number])
    work = UnitOfWork(library, moved, at)
    if work.status == "active":
        for token, flow in move.waiting_at_joins:
            work.enqueue("enter", token, flow)  # the join may have fewer ways in by now
    _arm_what_is_new(work, move)
    work.conditions_due = True
    return work


def _find_difference(node: Node, found: Node | None, scope: str) -> str:
    """Return why what stands at an element could not go on at another one, which is to lie in a scope."""
    if found is None:
        return "there is no such element."
    if found.kind is not node.kind:
        return "the element is of another kind."
    if (found.loop is None) != (node.loop is None):
        return "only one of the two is repeated."
    if found.scope != scope:
        return "the element lies elsewhere."
    if node.kind in (NodeKind.CATCH, NodeKind.RECEIVE_TASK) and found.trigger is not node.trigger:
        return "the element waits for something else."
    return ""


class _Move:
    """The records of a state, as they are and as they are to be."""

    def __init__(
        self, state: InstanceState, root: str, old: Definition, new: Definition, elements: Mapping[str, str]
    ) -> None:
        self.state: dict[str, Any] = dict(state)
        self.old, self.new = old, new
        self._root, self._elements = root, elements
        self.own = {key for key in self._section("scopes") if self._find_definition_scope(key) == root}
        self.waiting_at_joins: list[tuple[str, str]] = []
        self._dropped: set[tuple[str, str]] = set()

    def target(self, element: str) -> str:
        return self._elements.get(element, element)

    def find_unmapped(self) -> Iterator[Unmapped]:
        found: dict[str, Unmapped] = {}
        for record in self._standing():
            element = record["element"]
            node = self.old.nodes.get(element)
            reason = "" if node is None or element in found else self._find_reason(record, node)
            if node is not None and reason:
                found[element] = Unmapped(element, node.name, node.kind.value, reason)
        for entry in self._list_entries(self.state.get("compensations", [])):
            for element in filter(None, (entry["element"], entry.get("handler"))):
                if self.target(element) not in self.new.nodes and element not in found:
                    node = self.old.nodes[element]
                    reason = "it could not be compensated any more."
                    found[element] = Unmapped(element, node.name, node.kind.value, reason)
        yield from found.values()

    def build_state(self, definition: list[Any]) -> InstanceState:
        moved = dict(self.state)
        for part in ("scopes", "tokens", "items", "tasks", "loops", "undoing"):
            if part in moved:
                moved[part] = {key: self._rename(part, key, record) for key, record in self._section(part).items()}
        moved["scopes"][self._root] = {**moved["scopes"][self._root], "definition": definition}
        for part in ARMED:
            if part in moved:
                moved[part] = dict(self._keep_armed(part))
        if "compensations" in moved:
            moved["compensations"] = [self._rename_entry(entry) for entry in moved["compensations"]]
        moved.pop("decisions", None)
        return moved  # type: ignore[return-value]

    def _find_reason(self, record: Mapping[str, Any], node: Node) -> str:
        found = self.new.nodes.get(self.target(node.id))
        difference = _find_difference(node, found, self.target(node.scope))
        flow = record.get("flow")
        if not difference and found is not None and flow is not None:
            way = self.new.flows.get(self.target(flow))
            if way is None or way.target != found.id:
                return "the way by which it came does not lead there."
        return difference

    def _standing(self) -> Iterator[Mapping[str, Any]]:
        """Yield the records of everything that stands somewhere in the instance's own definition."""
        for part in ("tokens", "items", "undoing"):
            for record in self._section(part).values():
                if record["scope"] in self.own:
                    yield record

    def _rename(self, part: str, key: str, record: Mapping[str, Any]) -> dict[str, Any]:
        scope = key if part == "scopes" else record["scope"]
        if scope not in self.own or key == self._root:
            return dict(record)
        renamed = {**record, "element": self.target(record["element"])}
        if part == "tokens" and "flow" in record:
            if self.state["status"] == "active":
                self.waiting_at_joins.append((key, self.target(renamed.pop("flow"))))
            else:
                renamed["flow"] = self.target(record["flow"])
        if part == "items" and not self._has_same_criteria(record["element"]):
            renamed.pop("heard", None)  # by the places of criteria that are others now
            renamed.pop("held", None)
        if part == "tasks":
            node = self.new.nodes[renamed["element"]]
            renamed["name"] = node.name or node.id
        if "entries" in record:
            renamed["entries"] = [self._rename_entry(entry) for entry in record["entries"]]
        return renamed

    def _keep_armed(self, part: str) -> Iterator[tuple[str, dict[str, Any]]]:
        for key, record in self._section(part).items():
            if record["scope"] not in self.own:
                yield key, record
                continue
            before, after = self.old.nodes[record["element"]], self.new.nodes.get(self.target(record["element"]))
            attached = None if before.attached_to is None else self.target(before.attached_to)
            fits = after is not None and after.kind is before.kind and after.trigger is before.trigger
            if after is None or not fits or after.attached_to != attached:
                self._dropped.add((record["token"] or record["scope"], record["element"]))
                continue
            kept = {**record, "element": after.id}
            if part == "subscriptions" and after.event is not None:
                kept["name"] = after.event.name
            yield key, kept

    def _rename_entry(self, entry: Mapping[str, Any]) -> dict[str, Any]:
        renamed = {**entry, "element": self.target(entry["element"])}
        if "handler" in entry:
            renamed["handler"] = self.target(entry["handler"])
        if "inner" in entry:
            renamed["inner"] = [self._rename_entry(inner) for inner in entry["inner"]]
        return renamed

    def _list_entries(self, entries: list[Any]) -> Iterator[Mapping[str, Any]]:
        for entry in entries:
            if "definition" not in entry:  # of a called definition, which stays as it is
                yield entry
                yield from self._list_entries(entry.get("inner", []))

    def is_new_at(self, owner: str, element: str, known: Iterator[str]) -> bool:
        """Return whether an event is to be armed: the old revision did not have it, or waited for something else."""
        names = set(known)
        return element not in {self.target(name) for name in names} or any(
            self.target(name) == element for place, name in self._dropped if place == owner
        )

    def _has_same_criteria(self, element: str) -> bool:
        old, new = self.old.plan, self.new.plan
        if old is None or new is None:
            return True
        before, after = old.items.get(element), new.items.get(self.target(element))
        places = [[(each.id, each.sentry.on) for each in item.criteria] for item in (before, after) if item is not None]
        return len(places) == 2 and places[0] == places[1]

    def _find_definition_scope(self, key: str) -> str:
        scopes = self._section("scopes")
        while "definition" not in scopes[key]:
            key = scopes[key]["parent"]
        return key

    def _section(self, part: str) -> dict[str, Any]:
        found: dict[str, Any] = self.state.get(part) or {}
        return found


def _arm_what_is_new(work: UnitOfWork, move: _Move) -> None:
    """Arm the boundary events and event sub-processes that only the new revision has, where they would be armed."""
    sources = {move.target(element): element for element in move.old.nodes}
    for token in work.tokens.keys_in_order():
        record = work.tokens[token]
        scope = record["scope"]
        if scope not in move.own or "loop" in work.scopes[scope]:
            continue
        known = move.old.boundaries.get(sources.get(record["element"], ""), ())
        for boundary in move.new.boundaries.get(record["element"], ()):
            event = move.new.nodes[boundary]
            if event.trigger in _ARMABLE and move.is_new_at(token, boundary, iter(known)):
                arm_event(work, event, scope, token, is_persistent=not event.is_interrupting)
    for scope in list(move.own):
        if scope in work.scopes:
            _arm_scope(work, move, scope)


def _arm_scope(work: UnitOfWork, move: _Move, scope: str) -> None:
    record = work.scopes[scope]
    element = record["element"]
    before = next((name for name in move.old.scopes if move.target(name) == element), element)
    if move.new.plan is not None:
        known = set(move.old.scopes[before].nodes) if before in move.old.scopes else set()
        targets = {move.target(name) for name in known}
        stage = work.items.get(record["token"] or "")
        # The case itself, or a stage that has begun and not ended.
        is_under_way = stage is None or stage["state"] == "active"
        for child in move.new.scopes[element].nodes if element in move.new.scopes and is_under_way else ():
            if child not in targets:
                create_item(work, scope, child)
        return
    if "wraps" in record or "interrupted" in record or is_flow_over(work, scope):
        return
    known_starts = [s for sub in move.old.event_sub_processes.get(before, ()) for s in move.old.starts.get(sub, ())]
    for sub_process in move.new.event_sub_processes.get(element, ()):
        for start in move.new.starts.get(sub_process, ()):
            event = move.new.nodes[start]
            if event.trigger in _ARMABLE and move.is_new_at(scope, start, iter(known_starts)):
                arm_event(work, event, scope, None, is_persistent=not event.is_interrupting)
