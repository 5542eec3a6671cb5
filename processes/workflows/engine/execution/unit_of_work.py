"""The unit of work of one command: a state that is copied on write, and what the command has produced."""

from collections import Counter, deque
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
    CompensationLog,
    ConditionRecord,
    DecisionNote,
    Effect,
    InstanceState,
    ItemRecord,
    Library,
    LoopRecord,
    Place,
    Record,
    ScopeRecord,
    Section,
    SubscriptionRecord,
    TaskRecord,
    TimerRecord,
    TokenRecord,
    UndoRecord,
    Variables,
    sequence_number,
)


def _get_scope(record: TokenRecord | ItemRecord) -> str:
    return record["scope"]


def _get_token(record: ScopeRecord | TaskRecord | LoopRecord | UndoRecord) -> str | None:
    return record["token"]


def _get_token_or_scope(record: TimerRecord | SubscriptionRecord | ConditionRecord) -> str:
    return record["token"] or record["scope"]


FEW_ITEMS = 100
"""Up to this many items a scan is cheaper than building an index."""


class UnitOfWork:
    """The changes of one command to a state: records copied on write, queued steps, effects and trace."""

    def __init__(self, library: Library, state: InstanceState, at: datetime) -> None:
        self.initial_state = state
        self.at = at
        self.now = at.isoformat()
        self.epoch = state["epoch"]
        self.next_number = state["next"]
        self.status = state["status"]
        self.budget = CommandBudget(state.get("size", 0))
        self.scopes: Section[ScopeRecord] = Section(state.get("scopes"), _get_token)
        self.tokens: Section[TokenRecord] = Section(state.get("tokens"), _get_scope)
        self.items: Section[ItemRecord] = Section(state.get("items"), _get_scope)
        self.tasks: Section[TaskRecord] = Section(state.get("tasks"), _get_token)
        self.timers: Section[TimerRecord] = Section(state.get("timers"), _get_token_or_scope)
        self.subscriptions: Section[SubscriptionRecord] = Section(state.get("subscriptions"), _get_token_or_scope)
        self.conditions: Section[ConditionRecord] = Section(state.get("conditions"), _get_token_or_scope)
        self.loops: Section[LoopRecord] = Section(state.get("loops"), _get_token)
        self.undoing: Section[UndoRecord] = Section(state.get("undoing"), _get_token)
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
        self.compensations = CompensationLog(state.get("compensations"))
        self.queue: deque[tuple[Any, ...]] = deque()
        self.trace: list[tuple[str, str]] = []
        self.entered: Counter[Place] = Counter()
        self.occurred: Counter[Place] = Counter()
        """Milestones and event listeners, at which nothing stands."""
        self.effects: list[Effect] = []
        self.decisions: dict[tuple[str, str], DecisionNote] = {}
        """The decisions evaluated by this command, by element and key."""
        self.joins: dict[tuple[str, str], dict[str, list[str]]] = {}
        """Tokens that wait at a join, by scope and element, then by the flow they came by."""
        self.conditions_due = False
        """Variables were written or a condition was armed since conditions were last checked."""
        self.file_changes: list[tuple[str, str, Any, Any]] = []
        """Variables of cases that were written: the case's scope, the name, the value before and after."""
        self.copied_scopes: set[str] = set()
        """Scopes whose variables are copies already and may be written in place."""
        self.hops = self.generation = 0
        """How many events, handlers and quick timers have led here: see `MAX_HOPS`; and how many events in all."""
        self.visible_variables: dict[str, Mapping[str, Any]] = {}
        """Cache of `get_visible` by scope; cleared at every write."""
        self.variable_sizes: dict[tuple[str, str], int] = {}
        """Sizes of the variables written by this command, by scope and name."""
        self._library = library
        self._definitions: dict[str, Definition] = {}
        # What each record owns, with its section: a cancellation walks down from the owner and scans nothing.
        self._children: dict[str, dict[str, Section[Any]]] = {}
        self._items_of: dict[str, list[str]] | None = None
        self._has_conditions: bool | None = None
        self._index()

    def definition(self, scope: str) -> Definition:
        """Return the definition that the elements of a scope belong to."""
        found = self._definitions.get(scope)
        if found is None:
            record = self.scopes[scope]
            while "definition" not in record:
                record = self.scopes[cast(str, record["parent"])]
            key, revision = record["definition"]
            found = self._definitions[scope] = self._library(key, revision)[0]
        return found

    def newest_definition(self, key: str) -> tuple[Definition, int]:
        return self._library(key, None)

    def named_definition(self, key: str, revision: int | str) -> tuple[Definition, int]:
        """Return a revision that a file names by its number or its version tag; raises LookupError."""
        self._library(key, None)  # whether it may be called at all is asked of the newest
        return self._library(key, revision)

    def node(self, token: str) -> Node:
        record = self.tokens[token]
        return self.definition(record["scope"]).nodes[record["element"]]

    def new_id(self) -> str:
        key = f"{self.epoch}.{self.next_number}"
        self.next_number += 1
        return key

    def add(self, section: Section[Record], record: Record) -> str:
        """Store a record under a new id and list it with its owner."""
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

    def remove_item(self, key: str) -> None:
        self.cancel_owned(key)
        self._unlist(key, self.remove(self.items, key))

    def items_of_element(self, element: str) -> list[str]:
        """Return the items of one element in the order of creation, in whichever run of its stage."""
        if self._items_of is None and len(self.items) <= FEW_ITEMS:
            found = [key for key, record in self.items.items() if record["element"] == element]
            return found if len(found) < 2 else sorted(found, key=sequence_number)
        return list(self._item_index().get(element, ()))

    def items_of_stage(self, key: str) -> list[str]:
        """Return the items directly in a stage."""
        return [
            child
            for scope, section in self._children.get(key, {}).items()
            if section is self.scopes
            for child, inner in self._children.get(scope, {}).items()
            if inner is self.items
        ]

    def has_sentry_conditions(self) -> bool:
        """Return whether a case in this state has criteria with conditions."""
        if self._has_conditions is None:
            plans = [self.definition(key).plan for key, scope in self.scopes.items() if "definition" in scope]
            self._has_conditions = any(plan is not None and plan.items_with_conditions for plan in plans)
        return self._has_conditions

    def reset_conditions(self) -> None:
        """Recompute `has_sentry_conditions` when next asked: another case has begun."""
        self._has_conditions = None

    def items_below(self, owner: str) -> list[str]:
        """Return the nearest items inside a token, an item or a scope, in the order of creation."""
        return self._below(owner, self.items)

    def timers_below(self, owner: str) -> list[str]:
        """Return the timers inside a token, an item or a scope, except those of items further in."""
        return self._below(owner, self.timers)

    def owner(self, key: str) -> TokenRecord | ItemRecord:
        """Return the record of an owner, which is a token or a plan item."""
        return self.items[key] if key in self.items else self.tokens[key]

    def _below(self, owner: str, kind: Section[Any]) -> list[str]:
        found: list[str] = []
        owners = [owner]
        while owners:
            for key, section in self._children.get(owners.pop(), {}).items():
                if section is kind:
                    found.append(key)
                elif section is not self.items:
                    owners.append(key)
        return sorted(found, key=sequence_number)

    def _item_index(self) -> dict[str, list[str]]:
        if self._items_of is None:
            self._items_of = {}
            for key in self.items.keys_in_order():
                self._items_of.setdefault(self.items[key]["element"], []).append(key)
        return self._items_of

    def _unlist(self, key: str, record: ItemRecord) -> None:
        if self._items_of is not None:  # else it is made without the item
            self._items_of[record["element"]].remove(key)

    def remove(self, section: Section[Record], key: str) -> Record:
        record = section.pop(key)
        owner = section.owner_of(record)
        if owner is not None:
            self._children[owner].pop(key, None)
        return record

    def remove_token(self, token: str) -> TokenRecord:
        record = self.remove(self.tokens, token)
        self._leave_join(token, record)
        return record

    def move_token(self, token: str, element: str) -> None:
        """Move a token to another element of its scope, where it waits for nothing yet."""
        record = self.tokens[token]
        self._leave_join(token, record)
        # A new record: the flow it waited at or the loop it ran does not come along.
        self.tokens.put(token, {"element": element, "scope": record["scope"], "since": self.now})

    def wait_at_join(self, token: str, flow: str) -> dict[str, list[str]]:
        """Mark a token as waiting at its join; return all that wait there, by flow."""
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

    def disarm(self, scope: str) -> None:
        """Remove what the event sub-processes of a scope wait for: a scope owns no other timer or subscription."""
        armed = (self.timers, self.subscriptions, self.conditions)
        for key, section in list(self._children.get(scope, {}).items()):
            if any(section is one for one in armed):
                self.remove(section, key)

    def cancel_owned(self, owner: str) -> None:
        """Cancel everything owned by a token, an item or a scope, children before parents."""
        rest = self._take_children(owner)
        while rest:
            section, key, is_empty = rest.pop()
            if is_empty:
                self._cancel(section, key)
            else:
                rest.append((section, key, True))
                rest += self._take_children(key)

    def _take_children(self, owner: str) -> list[tuple[Section[Any], str, bool]]:
        """Detach and return the children of an owner, the newest first."""
        children = self._children.pop(owner, {})
        return [(children[key], key, False) for key in sorted(children, key=sequence_number, reverse=True)]

    def _cancel(self, section: Section[Any], key: str) -> None:
        record = section.pop(key)
        if section is self.tokens:
            self._leave_join(key, record)
            if "loop" not in record:
                self.trace.append(("cancel", record["element"]))
        elif section is self.scopes:
            self._release_scope(key, record)
        elif section is self.items:
            self._unlist(key, record)
            if record["state"] not in ENDED:
                self.trace.append(("cancel", record["element"]))
        elif section is self.loops:
            self.budget.add_size(-record["weight"] - self.measure_entries(record["entries"]), record["element"])
        elif section is self.undoing:
            self.budget.add_size(-self.measure_entries(record["entries"]), record["element"])
        elif section is self.tasks and "inputs" in record:
            self.budget.add_size(-self.budget.measure(record["inputs"], record["element"]), record["element"])
        elif section is self.tasks and "people" in record:
            self.budget.add_size(-self.budget.measure(record["people"], record["element"]), record["element"])

    def remove_scope(self, scope: str) -> ScopeRecord:
        """Remove a scope with what is still armed in it."""
        self.cancel_owned(scope)
        record = self.remove(self.scopes, scope)
        self._release_scope(scope, record)
        return record

    def _release_scope(self, scope: str, record: ScopeRecord) -> None:
        self.visible_variables.pop(scope, None)
        self.copied_scopes.discard(scope)
        weight = self.budget.measure(record["variables"], record["element"])
        self.budget.add_size(-weight - self.measure_entries(self.compensations.take(scope)), record["element"])

    def measure_entries(self, entries: Iterable[CompensationEntry]) -> int:
        weight = 0
        for entry in entries:
            weight += self.budget.measure(entry.get("variables", {}), entry["element"])
            weight += self.measure_entries(entry.get("inner", ()))
        return weight

    def add_effect(self, kind: str, element: str, inputs: Variables, name: str = "") -> None:
        """Add an effect, to be published after the commit."""
        self.budget.count_effect(inputs, element)
        # From the counter of the state: the same command gives the same id, by which receivers drop duplicates.
        effect: Effect = {"id": self.new_id(), "kind": kind, "element": element, "inputs": inputs}
        if kind in EVENTS:
            effect |= {"hops": self.count_hop(element), "generation": self.generation + 1}
        if name:
            effect["name"] = name
        self.effects.append(effect)

    def count_hop(self, element: str) -> int:
        """Return the length of the chain including this element; fail where it leads to itself for ever."""
        if self.hops >= MAX_HOPS:
            reason = "Events, handlers and timers without a wait have triggered one another {count} times in a row."
            raise CommandFailed(element, reason.format(count=MAX_HOPS))
        return self.hops + 1

    def enqueue(self, *step: object) -> None:
        """Append a step to the queue."""
        self.queue.append(step)

    def enqueue_first(self, *step: object) -> None:
        """Put a step at the head of the queue."""
        self.queue.appendleft(step)

    def build_state(self) -> InstanceState:
        """Return the resulting state; unchanged sections are shared with the initial one."""
        state: InstanceState = {
            "kind": self.initial_state["kind"],
            "epoch": self.epoch,
            "next": self.next_number,
            "status": self.status,
            "record": self.initial_state["record"],
            "size": self.budget.size,
        }
        for name, section in zip(SECTIONS, self._sections, strict=True):
            if section.records:  # empty sections are left out, so that an ended instance is small
                state[name] = section.records  # type: ignore[literal-required]
        if len(self.compensations):
            state["compensations"] = self.compensations.entries()
        if self.decisions:
            state["decisions"] = list(self.decisions.values())
        return state

    def _index(self) -> None:
        for section in self._sections:
            if not section.records:
                continue
            owner_of, last, own = section.owner_of, "", {}
            for key, record in section.records.items():
                owner = owner_of(record)
                if owner is None:
                    continue
                if owner != last:  # those of one owner stand together, as a rule
                    last, own = owner, self._children.setdefault(owner, {})
                own[key] = section
        waiting = [key for key, token in self.tokens.items() if "flow" in token]
        for key in sorted(waiting, key=sequence_number):
            token = self.tokens[key]
            self.joins.setdefault((token["scope"], token["element"]), {}).setdefault(token["flow"], []).append(key)
