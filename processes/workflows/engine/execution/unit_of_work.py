"""The working copy of a state while one command runs."""

from collections import deque
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, cast

from processes.workflows.engine.cases.lifecycle import ENDED
from processes.workflows.engine.definition import Definition, Node
from processes.workflows.engine.execution.errors import CommandFailed
from processes.workflows.engine.execution.limits import MAX_HOPS, MAX_TOKENS, CommandBudget
from processes.workflows.engine.execution.records import (
    EVENTS,
    SECTIONS,
    CompensationEntry,
    ConditionRecord,
    Effect,
    InstanceState,
    ItemRecord,
    Library,
    LoopRecord,
    ScopeRecord,
    SubscriptionRecord,
    TaskRecord,
    TimerRecord,
    TokenRecord,
    UndoRecord,
    Variables,
    sequence_number,
)
from processes.workflows.engine.execution.sections import CompensationLog, Record, Section


def _scope_of(record: TokenRecord | ItemRecord) -> str:
    return record["scope"]


def _token_of(record: ScopeRecord | TaskRecord | LoopRecord | UndoRecord) -> str | None:
    return record["token"]


def _token_or_scope_of(record: TimerRecord | SubscriptionRecord | ConditionRecord) -> str:
    return record["token"] or record["scope"]


FEW_ITEMS = 100
"""Up to so many are looked through; for more an index is made."""


class UnitOfWork:
    """A state that may be changed, what is still to be done in it, and what came of it so far."""

    def __init__(self, library: Library, state: InstanceState, at: datetime) -> None:
        self.given = state
        self.at = at
        self.now = at.isoformat()
        self.epoch = state["epoch"]
        self.next_number = state["next"]
        self.status = state["status"]
        self.allowance = CommandBudget(state.get("size", 0))
        self.scopes: Section[ScopeRecord] = Section(state.get("scopes"), _token_of)
        self.tokens: Section[TokenRecord] = Section(state.get("tokens"), _scope_of)
        self.items: Section[ItemRecord] = Section(state.get("items"), _scope_of)
        self.tasks: Section[TaskRecord] = Section(state.get("tasks"), _token_of)
        self.timers: Section[TimerRecord] = Section(state.get("timers"), _token_or_scope_of)
        self.subscriptions: Section[SubscriptionRecord] = Section(state.get("subscriptions"), _token_or_scope_of)
        self.conditions: Section[ConditionRecord] = Section(state.get("conditions"), _token_or_scope_of)
        self.loops: Section[LoopRecord] = Section(state.get("loops"), _token_of)
        self.undoing: Section[UndoRecord] = Section(state.get("undoing"), _token_of)
        self._sections: tuple[Section[Any], ...] = (
            self.scopes,
            self.tokens,
            self.items,
            self.tasks,
            self.timers,
            self.subscriptions,
            self.conditions,
            self.loops,
            self.undoing,
        )
        self.log = CompensationLog(state.get("compensations"))
        self.queue: deque[tuple[Any, ...]] = deque()
        self.trace: list[tuple[str, str]] = []
        self.effects: list[Effect] = []
        self.joins: dict[tuple[str, str], dict[str, list[str]]] = {}
        """Tokens that wait at a join, by scope and element, then by the flow they came by."""
        self.is_changed = False
        """Variables were written or a condition was armed since conditions were last looked at."""
        self.file_changes: list[tuple[str, str, Any, Any]] = []
        """Variables of cases that were written: the case's scope, the name, the value before and after."""
        self.own: set[str] = set()
        """Scopes whose records are copies already."""
        self.hops = 0
        """How long the chain is that has led here: see `MAX_HOPS`."""
        self.names: dict[str, Mapping[str, Any]] = {}
        """What can be seen from a scope; forgotten at every change."""
        self.weights: dict[tuple[str, str], int] = {}
        """What variables weigh that were written by this command, by scope and name."""
        self._library = library
        self._definitions: dict[str, Definition] = {}
        self._children: dict[str, dict[str, Section[Any]]] = {}
        self._items_of: dict[str, list[str]] | None = None
        self._has_conditions: bool | None = None
        self._index()

    def definition(self, scope: str) -> Definition:
        """Give the definition that the elements of a scope are of."""
        found = self._definitions.get(scope)
        if found is None:
            record = self.scopes[scope]
            while "definition" not in record:
                record = self.scopes[cast(str, record["parent"])]
            key, revision = record["definition"]
            found = self._definitions[scope] = self._library(key, revision)[0]
        return found

    def newest(self, key: str) -> tuple[Definition, int]:
        return self._library(key, None)

    def node(self, token: str) -> Node:
        record = self.tokens[token]
        return self.definition(record["scope"]).nodes[record["element"]]

    def new_id(self) -> str:
        key = f"{self.epoch}.{self.next_number}"
        self.next_number += 1
        return key

    def add(self, section: Section[Record], record: Record) -> str:
        """Put a record under a new id, as something of its owner."""
        key = self.new_id()
        section.put(key, record)
        owner = section.owner_of(record)
        if owner is not None:
            self._children.setdefault(owner, {})[key] = section
        return key

    def add_token(self, scope: str, element: str) -> str:
        if len(self.tokens) >= MAX_TOKENS:
            raise CommandFailed(element, f"There would be more than {MAX_TOKENS} tokens.")
        record: TokenRecord = {"element": element, "scope": scope, "since": self.now}
        return self.add(self.tokens, record)

    def add_item(self, record: ItemRecord) -> str:
        key = self.add(self.items, record)
        if self._items_of is not None:
            self._items_of.setdefault(record["element"], []).append(key)
        return key

    def drop_item(self, key: str) -> None:
        self.clear(key)
        self._unlist(key, self.drop(self.items, key))

    def items_of(self, element: str) -> list[str]:
        """Give the items of one plan item, in the order of creation, whichever stage they lie in."""
        if self._items_of is None and len(self.items) <= FEW_ITEMS:
            found = [key for key, record in self.items.items() if record["element"] == element]
            return found if len(found) < 2 else sorted(found, key=sequence_number)
        return list(self._item_index().get(element, ()))

    def items_of_stage(self, key: str) -> list[str]:
        """Give the items that lie in a stage, without those further in."""
        return [
            child
            for scope, section in self._children.get(key, {}).items()
            if section is self.scopes
            for child, inner in self._children.get(scope, {}).items()
            if inner is self.items
        ]

    def has_conditions(self) -> bool:
        """Tell whether a case in this state has criteria with conditions."""
        if self._has_conditions is None:
            plans = [self.definition(key).plan for key, scope in self.scopes.items() if "definition" in scope]
            self._has_conditions = any(plan is not None and plan.conditioned for plan in plans)
        return self._has_conditions

    def forget_conditions(self) -> None:
        """Let it be told anew: another case has begun."""
        self._has_conditions = None

    def items_below(self, owner: str) -> list[str]:
        """Give the nearest items inside a token, an item or a scope, in the order of creation."""
        return self._below(owner, self.items)

    def timers_below(self, owner: str) -> list[str]:
        """Give the timers inside a token, an item or a scope that belong to no item further in."""
        return self._below(owner, self.timers)

    def owner(self, key: str) -> TokenRecord | ItemRecord:
        """Give the token or the item that something belongs to."""
        return self.items[key] if key in self.items else self.tokens[key]

    def _below(self, owner: str, wanted: Section[Any]) -> list[str]:
        found: list[str] = []
        owners = [owner]
        while owners:
            for key, section in self._children.get(owners.pop(), {}).items():
                if section is wanted:
                    found.append(key)
                elif section is not self.items:
                    owners.append(key)
        return sorted(found, key=sequence_number)

    def _item_index(self) -> dict[str, list[str]]:
        if self._items_of is None:
            self._items_of = {}
            for key in self.items.in_order():
                self._items_of.setdefault(self.items[key]["element"], []).append(key)
        return self._items_of

    def _unlist(self, key: str, record: ItemRecord) -> None:
        if self._items_of is not None:  # else it is made without the item
            self._items_of[record["element"]].remove(key)

    def drop(self, section: Section[Record], key: str) -> Record:
        record = section.pop(key)
        owner = section.owner_of(record)
        if owner is not None:
            self._children[owner].pop(key, None)
        return record

    def drop_token(self, token: str) -> TokenRecord:
        record = self.drop(self.tokens, token)
        self._leave_join(token, record)
        return record

    def move(self, token: str, element: str) -> None:
        """Put a token on another element of its scope; it waits for nothing there yet."""
        record = self.tokens[token]
        self._leave_join(token, record)
        self.tokens.put(token, {"element": element, "scope": record["scope"], "since": self.now})

    def wait_at_join(self, token: str, flow: str) -> dict[str, list[str]]:
        """Let a token wait at the join it is on; give those that wait there by flow."""
        record = self.tokens[token]
        self.tokens.put(token, {**record, "flow": flow})
        waiting = self.joins.setdefault((record["scope"], record["element"]), {})
        waiting.setdefault(flow, []).append(token)
        return waiting

    def _leave_join(self, token: str, record: TokenRecord) -> None:
        if "flow" not in record:
            return
        join = (record["scope"], record["element"])
        tokens = self.joins[join][record["flow"]]
        tokens.remove(token)
        if not tokens:
            del self.joins[join][record["flow"]]
            if not self.joins[join]:
                del self.joins[join]

    def has_tokens(self, scope: str) -> bool:
        return any(section is self.tokens for section in self._children.get(scope, {}).values())

    def tokens_of(self, scope: str) -> list[str]:
        return [key for key, section in self._children.get(scope, {}).items() if section is self.tokens]

    def clear(self, owner: str) -> None:
        """Cancel everything that belongs to a token or a scope: what lies in something before the thing itself."""
        rest = self._take_children(owner)
        while rest:
            section, key, is_empty = rest.pop()
            if is_empty:
                self._cancel(section, key)
            else:
                rest.append((section, key, True))
                rest += self._take_children(key)

    def _take_children(self, owner: str) -> list[tuple[Section[Any], str, bool]]:
        """Take what belongs to an owner, the newest first."""
        children = self._children.pop(owner, {})
        return [(children[key], key, False) for key in sorted(children, key=sequence_number, reverse=True)]

    def _cancel(self, section: Section[Any], key: str) -> None:
        record = section.pop(key)
        if section is self.tokens:
            self._leave_join(key, record)
            if "loop" not in record:
                self.trace.append(("cancel", record["element"]))
        elif section is self.scopes:
            self._forget(key, record)
        elif section is self.items:
            self._unlist(key, record)
            if record["state"] not in ENDED:
                self.trace.append(("cancel", record["element"]))
        elif section is self.loops:
            self.allowance.grow(-record["weight"] - self.weigh_entries(record["entries"]), record["element"])
        elif section is self.undoing:
            self.allowance.grow(-self.weigh_entries(record["entries"]), record["element"])
        elif section is self.tasks and "inputs" in record:
            self.allowance.grow(-self.allowance.weigh(record["inputs"], record["element"]), record["element"])

    def drop_scope(self, scope: str) -> ScopeRecord:
        """Remove a scope in which nothing is left, and what was armed in it."""
        self.clear(scope)
        record = self.drop(self.scopes, scope)
        self._forget(scope, record)
        return record

    def _forget(self, scope: str, record: ScopeRecord) -> None:
        self.names.pop(scope, None)
        self.own.discard(scope)
        weight = self.allowance.weigh(record["variables"], record["element"])
        self.allowance.grow(-weight - self.weigh_entries(self.log.take(scope)), record["element"])

    def weigh_entries(self, entries: Iterable[CompensationEntry]) -> int:
        weight = 0
        for entry in entries:
            weight += self.allowance.weigh(entry.get("variables", {}), entry["element"])
            weight += self.weigh_entries(entry.get("inner", ()))
        return weight

    def give(self, kind: str, element: str, inputs: Variables, name: str = "") -> None:
        """Add an effect."""
        self.allowance.give(inputs, element)
        effect: Effect = {"id": self.new_id(), "kind": kind, "element": element, "inputs": inputs}
        if kind in EVENTS:
            effect["hops"] = self.hop(element)
        if name:
            effect["name"] = name
        self.effects.append(effect)

    def hop(self, element: str) -> int:
        """Return how long the chain is with what this element does; one that leads to itself for ever ends here."""
        if self.hops >= MAX_HOPS:
            reason = "Events, handlers and timers without a wait have led to one another {count} times by themselves."
            raise CommandFailed(element, reason.format(count=MAX_HOPS))
        return self.hops + 1

    def later(self, *step: object) -> None:
        """Do a step after those that wait already."""
        self.queue.append(step)

    def at_once(self, *step: object) -> None:
        """Do a step before those that wait."""
        self.queue.appendleft(step)

    def result(self) -> InstanceState:
        """Give the state as it is now; sections that nothing changed are those of the state given."""
        state: InstanceState = {
            "kind": self.given["kind"],
            "epoch": self.epoch,
            "next": self.next_number,
            "status": self.status,
            "record": self.given["record"],
            "size": self.allowance.size,
        }
        for name, section in zip(SECTIONS, self._sections, strict=True):
            if section.records:
                state[name] = section.records  # type: ignore[literal-required]
        if len(self.log):
            state["compensations"] = self.log.entries()
        return state

    def _index(self) -> None:
        children = self._children
        for section in self._sections:
            if not section.records:
                continue
            owner_of, last, own = section.owner_of, "", {}
            for key, record in section.records.items():
                owner = owner_of(record)
                if owner is None:
                    continue
                if owner != last:  # those of one owner stand together, as a rule
                    last, own = owner, children.setdefault(owner, {})
                own[key] = section
        waiting = [key for key, token in self.tokens.items() if "flow" in token]
        for key in sorted(waiting, key=sequence_number):
            token = self.tokens[key]
            self.joins.setdefault((token["scope"], token["element"]), {}).setdefault(token["flow"], []).append(key)
