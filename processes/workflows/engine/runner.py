"""Run a command: from a state and a command to the next state and its effects. Time is a parameter.

First the command is applied, then the steps that it has queued are run until everything waits for something outside.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any

from processes.workflows.engine.cases import items, sentries
from processes.workflows.engine.cases.commands import (
    ITEM_COMMANDS,
    apply_item_command,
    close_case,
    is_case,
    reactivate_case,
    resume_case,
    suspend_case,
    terminate_case,
)
from processes.workflows.engine.cases.stages import begin_case, complete_innermost_stage, end_case
from processes.workflows.engine.cases.transitions import is_subscription_suspended, is_within_suspended
from processes.workflows.engine.definition import Definition, Node, NodeKind, Trigger
from processes.workflows.engine.execution import events, flows
from processes.workflows.engine.execution.activities import begin_activity, finish_activity
from processes.workflows.engine.execution.completion import complete_scope, end_instance, terminate_scope
from processes.workflows.engine.execution.errors import CommandFailed, CommandRejected
from processes.workflows.engine.execution.limits import MAX_VARIABLES, estimate_size, is_json, is_name
from processes.workflows.engine.execution.loops import begin_loop
from processes.workflows.engine.execution.records import (
    Effect,
    InstanceState,
    Library,
    Place,
    TaskRecord,
    Variables,
)
from processes.workflows.engine.execution.scopes import begin_scope, find_first_elements, open_scope
from processes.workflows.engine.execution.unit_of_work import UnitOfWork
from processes.workflows.engine.execution.variables import write_results, write_variables
from processes.workflows.engine.execution.visits import note_entry
from processes.workflows.engine.expressions import ExpressionFailed
from processes.workflows.engine.migration import begin_migration

__all__ = [
    "Command",
    "CommandFailed",
    "CommandOutcome",
    "CommandRejected",
    "Effect",
    "InstanceState",
    "Library",
    "run_command",
]

Command = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class CommandOutcome:
    state: InstanceState
    effects: tuple[Effect, ...]
    """Published after the commit, in order; running the command again gives the same ids."""
    trace: tuple[tuple[str, str], ...] = ()
    """`enter`, `leave` or `cancel`, and the element, in the order in which it happened."""
    entered: Mapping[Place, int] = field(default_factory=dict)
    """How often each element was entered."""
    occurred: Mapping[Place, int] = field(default_factory=dict)
    """The same of milestones and event listeners, at which nothing stands."""

    def followed_by(self, other: "CommandOutcome") -> "CommandOutcome":
        """Return the outcome of both commands, of which the other was run against the state of this one."""
        return CommandOutcome(
            other.state,
            (*self.effects, *other.effects),
            (*self.trace, *other.trace),
            Counter(self.entered) + Counter(other.entered),
            Counter(self.occurred) + Counter(other.occurred),
        )


def run_command(library: Library, state: InstanceState | None, command: Command, at: datetime) -> CommandOutcome:
    """Run a command against a state, which is not modified; `state` is None for the command that starts an instance.

    Raises CommandRejected if the command does not fit the state, CommandFailed if it fails at an element.
    """
    if state is None and command["command"] != "start":
        raise CommandRejected("The instance has not been started.")
    if state is not None and command["command"] == "start" and "item" not in command:
        raise CommandRejected("The instance has been started already.")
    if state is None:
        work = _start_instance(library, command, at)
    elif command["command"] == "migrate":
        if state["status"] not in ("active", "suspended"):
            raise CommandRejected(f"The instance is {state['status']}.")
        work = begin_migration(library, state, command, at)
    else:
        work = UnitOfWork(library, state, at)
        _apply_command(work, command)
    if work.status == "active":
        _run_queue(work)
    if command["command"] == "reactivate" and work.status != "active":
        raise CommandRejected("Nothing has ended with the case that could begin again.")
    return CommandOutcome(work.build_state(), tuple(work.effects), tuple(work.trace), work.entered, work.occurred)


def _start_instance(library: Library, command: Command, at: datetime) -> UnitOfWork:
    """Create the unit of work of a new instance."""
    key, revision = command["definition"]
    definition, revision = library(key, revision)
    if definition.decision is not None:
        raise CommandRejected("A decision is evaluated; it has no instances.")
    variables = _read_variables(command)
    record = command.get("record") or ""
    state: InstanceState = {"kind": definition.kind, "epoch": 0, "next": 1, "status": "active", "record": record}
    work = UnitOfWork(library, state, at)
    work.hops, work.generation = command.get("hops", 0), command.get("generation", 0)
    scope = open_scope(
        work,
        {
            "element": definition.key,
            "definition": [key, revision],
            "parent": None,
            "token": None,
            "variables": variables,
        },
    )
    if definition.plan is not None:
        work.enqueue("begin_case", scope)
    else:
        begin_scope(work, scope, _choose_start(definition, command.get("start"), variables))
    return work


def _choose_start(definition: Definition, chosen: str | None, variables: Variables) -> tuple[str, ...]:
    """Return the start event named by the command; else the one without a trigger, or one whose condition holds."""
    starts = definition.starts.get(definition.key, ())
    if chosen is not None:
        if chosen not in starts:
            raise CommandRejected(f"The process has no start event {chosen}.")
        return (chosen,)
    plain = [key for key in starts if definition.nodes[key].trigger is Trigger.NONE]
    conditional = [key for key in starts if definition.nodes[key].trigger is Trigger.CONDITION]
    if not plain and conditional:
        return (_choose_by_condition(definition, conditional, variables),)
    if starts and len(plain) != 1:
        raise CommandRejected("The process does not have exactly one start event without a trigger.")
    try:
        return tuple(find_first_elements(definition, definition.key))
    except CommandFailed as failed:
        raise CommandRejected(failed.reason) from failed


def _choose_by_condition(definition: Definition, starts: Sequence[str], variables: Variables) -> str:
    """Return the first of these start events whose condition holds for what the instance is started with."""
    for key in starts:
        event = definition.nodes[key].event
        try:
            if event is not None and event.condition is not None and event.condition.evaluate(variables):
                return key
        except ExpressionFailed:
            continue  # over a variable that is not there: it does not hold
    raise CommandRejected("The condition of no start event holds.")


def _apply_command(work: UnitOfWork, command: Command) -> None:
    """Apply a command to a started instance."""
    # A discretionary item waits enabled until it is planned, so to plan it is to start it.
    name: str = "start" if command["command"] == "plan" else command["command"]
    # The answer of a handler, and a timer, continue the chain that has led to them.
    task, timer = work.tasks.get(str(command.get("task"))), work.timers.get(str(command.get("timer")))
    chain: dict[str, Any] = {**(task or timer or {}), **command}
    work.hops, work.generation = chain.get("hops", 0), chain.get("generation", 0)
    # The commands that an ended case accepts.
    if name in _OF_ENDED_CASES and is_case(work):
        _OF_ENDED_CASES[name](work)
        return
    if work.status not in ("active", "suspended"):
        raise CommandRejected(f"The instance is {work.status}.")
    if work.status == "suspended" and name not in _WHILE_SUSPENDED:
        raise CommandRejected("The instance is suspended.")
    if name in ITEM_COMMANDS:
        apply_item_command(work, name, command)
        return
    handle = _COMMANDS.get(str(name))
    if handle is None:
        raise CommandRejected(f"A {'case' if is_case(work) else 'process'} does not support the command {name}.")
    handle(work, command)


_OF_ENDED_CASES = {"close": close_case, "reactivate": reactivate_case}


def _complete_task(work: UnitOfWork, command: Command, *, kinds: tuple[str, ...]) -> None:
    task = _get_task(work, command, kinds)
    returned = _read_variables(command)
    node = work.definition(task["scope"]).nodes[task["element"]]
    write_results(work, task["scope"], node, returned, task.get("inputs", {}))
    finish_activity(work, task["token"])


def _fail_job(work: UnitOfWork, command: Command) -> None:
    task = _get_task(work, command, _JOB_KINDS)
    reason = str(command.get("error") or "")
    code = command.get("code")
    if not code:
        raise CommandFailed(task["element"], reason or "The work failed.")
    write_variables(work, task["scope"], _read_variables(command), task["element"])
    events.raise_error(work, task["token"], str(code), reason)


def _get_task(work: UnitOfWork, command: Command, kinds: tuple[str, ...]) -> TaskRecord:
    task = work.tasks.get(str(command.get("task")))
    if task is None:
        raise CommandRejected("The task is not open.")
    if task["kind"] not in kinds:
        raise CommandRejected(f"A task of kind {task['kind']} cannot be completed by this command.")
    if work.items.records and is_within_suspended(work, task["token"]):
        raise CommandRejected("The task is in a suspended item of the case.")
    return task


def _send_message(work: UnitOfWork, command: Command) -> None:
    name = command.get("name")
    # By BPMN a message has one receiver, a signal reaches all.
    for key in work.subscriptions.keys_in_order():
        record = work.subscriptions[key]
        if record["kind"] == "message" and record["name"] == name and not is_subscription_suspended(work, record):
            events.fire_event(work, key, record, _read_variables(command))
            return
    raise CommandRejected(f"Nothing waits for the message {name}.")


def _deliver_event(work: UnitOfWork, command: Command) -> None:
    key = str(command.get("subscription"))
    record = work.subscriptions.get(key)
    if record is None:
        raise CommandRejected("Nothing waits for the event any more.")
    if is_subscription_suspended(work, record):
        raise CommandRejected("The event is in a suspended item of the case.")
    payload = command.get("payload")
    parts = payload if isinstance(payload, dict) else {}
    # Events are written by others: a part that cannot be a variable is left out, and the event still arrives.
    variables = {name: value for name, value in parts.items() if is_name(name) and is_json(value)}
    events.fire_event(work, key, record, variables)


def _fire_timer(work: UnitOfWork, command: Command) -> None:
    key = str(command.get("timer"))
    record = work.timers.get(key)
    if record is None:
        raise CommandRejected("The timer is no longer running.")
    events.fire_event(work, key, record)


def _set_variables(work: UnitOfWork, command: Command) -> None:
    scope = _get_root_scope(work)
    write_variables(work, scope, _read_variables(command), work.scopes[scope]["element"])


def _suspend(work: UnitOfWork, command: Command) -> None:
    if work.status == "suspended":
        raise CommandRejected("The instance is suspended already.")
    if is_case(work):
        suspend_case(work)
    work.status = "suspended"


def _resume(work: UnitOfWork, command: Command) -> None:
    if work.status != "suspended":
        raise CommandRejected("The instance is not suspended.")
    if is_case(work):
        resume_case(work)
    work.status = "active"
    work.conditions_due = True  # variables may have been set in the meantime


def _terminate(work: UnitOfWork, command: Command) -> None:
    if is_case(work):
        terminate_case(work)
    else:
        end_instance(work, _get_root_scope(work), "terminated")


def _get_root_scope(work: UnitOfWork) -> str:
    return next(key for key, record in work.scopes.items() if record["token"] is None)


def _read_variables(command: Command) -> Variables:
    """Return the variables of a command; raises CommandRejected if they cannot be stored."""
    variables = command.get("variables")
    if variables is None:
        return {}
    if not isinstance(variables, dict):
        raise CommandRejected("Variables are a map of names to values.")
    for name, value in variables.items():
        if not is_name(name):
            raise CommandRejected(f"{str(name)[:100]!r} cannot be the name of a variable.")
        if not is_json(value):
            raise CommandRejected(f"The value of {name} is nested too deeply, or cannot be represented in JSON.")
    if estimate_size(variables) > MAX_VARIABLES:
        raise CommandRejected(f"The variables take more than {MAX_VARIABLES} bytes.")
    return dict(variables)


def _run_queue(work: UnitOfWork) -> None:
    """Run the queued steps until everything waits for something outside, checking conditions after each.

    A stage is complete only when everything that its last item has set off is done.
    """
    while True:
        _check_conditions(work)
        while work.queue:
            name, *arguments = work.queue.popleft()
            _STEPS[name](work, *arguments)
            _check_conditions(work)
        if work.status != "active":
            return
        # Last, when nothing moves any more: until then a token or an item may still arrive.
        if not flows.open_inclusive_join(work) and not (len(work.items) and complete_innermost_stage(work)):
            flows.fail_if_stuck(work)
            return


def _check_conditions(work: UnitOfWork) -> None:
    # What a condition sets off may write variables that make another one true.
    while work.conditions_due:
        work.conditions_due = False
        if len(work.conditions):
            events.fire_true_conditions(work)
        if len(work.items):
            sentries.notify_variable_changes(work)
            sentries.check_sentry_conditions(work)


def _enter_element(work: UnitOfWork, token: str, flow: str | None) -> None:
    record = work.tokens.get(token)
    if record is None:
        return  # cancelled in the meantime
    work.budget.count_step(record["element"])
    node = work.definition(record["scope"]).nodes[record["element"]]
    if node.loop is not None and "loop" not in work.scopes[record["scope"]]:
        begin_loop(work, token, node, node.loop)
        return
    note_entry(work, record["scope"], node.id)
    enter = _ENTER.get(node.kind)
    if enter is None:
        begin_activity(work, token, node)
    else:
        enter(work, token, node, flow)


_JOB_KINDS = ("external", "job")
_COMMANDS: dict[str, Callable[[UnitOfWork, Command], None]] = {
    "complete_task": partial(_complete_task, kinds=("user", "manual", "receive")),
    "complete_job": partial(_complete_task, kinds=_JOB_KINDS),
    "fail_job": _fail_job,
    "send_message": _send_message,
    "event": _deliver_event,
    "fire_timer": _fire_timer,
    "set_variables": _set_variables,
    "suspend": _suspend,
    "resume": _resume,
    "terminate": _terminate,
}
_WHILE_SUSPENDED = frozenset({"resume", "terminate", "set_variables"})

_STEPS: dict[str, Callable[..., None]] = {
    "enter": _enter_element,
    "end": complete_scope,
    "cancel_transaction": events.cancel_transaction,
    "terminate": terminate_scope,
    "begin_case": begin_case,
    "case_ended": end_case,
    "created": items.activate_created,
    "met": items.meet_criterion,
    "occur": items.make_occur,
    "finish_task": items.complete_task,
    "fail_task": items.fail_task,
}

_ENTER: dict[NodeKind, Callable[[UnitOfWork, str, Node, str | None], None]] = {
    NodeKind.START: events.pass_event,
    NodeKind.BOUNDARY: events.pass_event,
    NodeKind.END: events.enter_throw,
    NodeKind.THROW: events.enter_throw,
    NodeKind.CATCH: events.enter_catch,
    NodeKind.EVENT_BASED: events.enter_event_gateway,
    NodeKind.EXCLUSIVE: flows.enter_exclusive,
    NodeKind.PARALLEL: flows.enter_parallel,
    NodeKind.INCLUSIVE: flows.enter_inclusive,
}
