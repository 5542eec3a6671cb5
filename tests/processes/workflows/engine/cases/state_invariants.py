"""The invariants of every state of a case."""

from collections import Counter
from typing import Any

from processes.workflows.engine.case_plan import PlanItem
from processes.workflows.engine.definition import Node, NodeKind
from processes.workflows.engine.execution.records import InstanceState, Library

LISTENERS = (NodeKind.TIMER_LISTENER, NodeKind.USER_LISTENER)
STAGES = (NodeKind.STAGE, NodeKind.CASE_PLAN)
ENDED = ("completed", "terminated", "closed")
SETTLED = ("completed", "terminated", "disabled", "failed")
Record = dict[str, Any]


class StateInvariants:
    """A state and what its items are by the file."""

    def __init__(self, library: Library, state: InstanceState) -> None:
        self.library = library
        self.state = state
        self.scopes: dict[str, Record] = dict(state["scopes"])  # type: ignore[arg-type]
        self.items: dict[str, Record] = dict(state.get("items", {}))  # type: ignore[arg-type]
        self.tokens: dict[str, Record] = dict(state.get("tokens", {}))  # type: ignore[arg-type]

    def check(self) -> None:
        self._check_owners()
        for key, record in self.items.items():
            self._check_item(key, record)
        self._check_ended()
        if self.state["status"] == "active":
            for key, record in self.items.items():
                if record["state"] == "active" and self.node(record).kind in STAGES:
                    assert not self.is_complete(key), f"{record['element']} should have completed"

    def definition_of(self, scope: str) -> Any:
        while "definition" not in self.scopes[scope]:
            scope = self.scopes[scope]["parent"]
        return self.library(*self.scopes[scope]["definition"])[0]

    def node(self, record: Record) -> Node:
        node: Node = self.definition_of(record["scope"]).nodes[record["element"]]
        return node

    def rules(self, record: Record) -> PlanItem:
        item: PlanItem = self.definition_of(record["scope"]).plan.items[record["element"]]
        return item

    def children(self, key: str) -> list[Record]:
        """Give the items of a stage."""
        scopes = {name for name, scope in self.scopes.items() if scope["token"] == key}
        return [record for record in self.items.values() if record["scope"] in scopes]

    def is_complete(self, key: str) -> bool:
        """Tell whether a stage that is active must have completed."""
        children = [child for child in self.children(key) if self.node(child).kind not in LISTENERS]
        if not self.rules(self.items[key]).auto_completes:
            return all(child["state"] in SETTLED for child in children)
        idle = all(child["state"] not in ("active", "suspended") for child in children)
        return idle and all(child["state"] in SETTLED for child in children if child.get("required"))

    def _check_owners(self) -> None:
        """No task, timer or scope is without what it belongs to."""
        for section, states in (("tasks", ("active", "suspended")), ("timers", ("available",))):
            records: dict[str, Record] = self.state.get(section, {})  # type: ignore[assignment]
            for record in records.values():
                assert record["scope"] in self.scopes
                owner = self.items.get(record["token"])
                assert record["token"] in self.tokens or (owner is not None and owner["state"] in states), record
        for scope in self.scopes.values():
            assert (scope["parent"] is None) == (scope["token"] is None)
            assert scope["token"] is None or scope["token"] in self.items or scope["token"] in self.tokens
        for key, record in (*self.items.items(), *self.tokens.items()):
            assert record["scope"] in self.scopes, key

    def _check_item(self, key: str, record: Record) -> None:
        kind, state = self.node(record).kind, record["state"]
        around = self._around(record)
        if kind is NodeKind.HUMAN_TASK:
            asked = any(task["token"] == key for task in self.state.get("tasks", {}).values())
            assert asked == self._runs(record), record
        elif kind not in (*LISTENERS, NodeKind.MILESTONE) and (kind not in STAGES or state not in ENDED):
            assert (key in {scope["token"] for scope in self.scopes.values()}) == self._runs(record), record
        assert "before" not in record or (state == "suspended" and around == "suspended"), record
        assert "paused" not in record or state == "suspended"
        assert around not in ENDED or state in ENDED, f"{record['element']} is {state} in what has ended"
        assert around != "suspended" or state in (*ENDED, "failed", "suspended"), f"{record['element']} is {state}"
        assert around in (*ENDED, "suspended", "active"), "a stage that has not begun has nothing in it"
        assert state not in ENDED or not {"heard", "held", "before", "paused"} & set(record)
        has_entry = any(criterion.role == "entry" for criterion in self.rules(record).criteria)
        if state == "available" and not has_entry and self.state["status"] == "active":
            assert kind in LISTENERS, f"{record['element']} waits for nothing"

    def _stands(self, record: Record) -> bool:
        return record["state"] == "suspended" and "before" not in record

    def _runs(self, record: Record) -> bool:
        """Tell whether an activity is under way, also while it is suspended."""
        return "active" in (record["state"], record.get("before")) or self._stands(record)

    def _around(self, record: Record) -> str:
        """Give the state of what an item lies in: a stage, a task that runs a case, or the instance."""
        owner = self.scopes[record["scope"]]["token"]
        while owner is not None and owner not in self.items:
            owner = self.scopes[self.tokens[owner]["scope"]]["token"]
        if owner is None:
            return "active"
        return str(self.items[owner]["state"])

    def _check_ended(self) -> None:
        """Of each plan item one that has ended is kept in a stage that goes on, and none beside a newer one."""
        places = Counter((record["scope"], record["element"]) for record in self.items.values())
        for record in self.items.values():
            if record["state"] in ENDED and self._around(record) not in ENDED and self.state["status"] not in ENDED:
                assert places[record["scope"], record["element"]] == 1, record
        if self.state["kind"] == "cmmn":
            plan = next(iter(sorted(self.items, key=lambda key: int(key.partition(".")[2]))))
            assert self.items[plan]["state"] == self.state["status"]
