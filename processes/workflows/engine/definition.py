"""A definition as the engine runs it: parsed once, immutable, shared by all instances of a revision.

Nodes and flows are keyed by their id in the file. A scope has variables and tokens of its own: the process itself, a
sub-process, an event sub-process.
"""

from dataclasses import dataclass, field
from enum import StrEnum

from processes.workflows.engine.case_plan import CasePlan
from processes.workflows.engine.expressions import Expression


class NodeKind(StrEnum):
    START = "start"
    END = "end"
    CATCH = "catch"
    THROW = "throw"
    BOUNDARY = "boundary"
    TASK = "task"
    """A task of no type: passed through."""
    USER_TASK = "user_task"
    MANUAL_TASK = "manual_task"
    SERVICE_TASK = "service_task"
    SCRIPT_TASK = "script_task"
    SEND_TASK = "send_task"
    RECEIVE_TASK = "receive_task"
    EXCLUSIVE = "exclusive_gateway"
    PARALLEL = "parallel_gateway"
    INCLUSIVE = "inclusive_gateway"
    EVENT_BASED = "event_based_gateway"
    SUB_PROCESS = "sub_process"
    EVENT_SUB_PROCESS = "event_sub_process"
    CALL_ACTIVITY = "call_activity"
    CASE_PLAN = "case_plan"
    STAGE = "stage"
    HUMAN_TASK = "human_task"
    PROCESS_TASK = "process_task"
    CASE_TASK = "case_task"
    MILESTONE = "milestone"
    TIMER_LISTENER = "timer_event_listener"
    USER_LISTENER = "user_event_listener"


LISTENERS = frozenset({NodeKind.TIMER_LISTENER, NodeKind.USER_LISTENER})
CASE_ACTIVITIES = frozenset({NodeKind.STAGE, NodeKind.HUMAN_TASK, NodeKind.PROCESS_TASK, NodeKind.CASE_TASK})
CASE_KINDS = frozenset({NodeKind.CASE_PLAN, NodeKind.MILESTONE, *CASE_ACTIVITIES, *LISTENERS})
"""The kinds of CMMN."""


class Trigger(StrEnum):
    NONE = "none"
    MESSAGE = "message"
    SIGNAL = "signal"
    TIMER = "timer"
    CONDITION = "condition"
    ERROR = "error"
    TERMINATE = "terminate"
    COMPENSATION = "compensation"


class TimerKind(StrEnum):
    DATE = "date"
    DURATION = "duration"
    CYCLE = "cycle"


@dataclass(frozen=True, slots=True)
class TimerDefinition:
    """When it fires: a literal of ISO 8601, or an expression that gives one (a number is seconds)."""

    kind: TimerKind
    literal: str | None = None
    expression: Expression | None = None


@dataclass(frozen=True, slots=True)
class BpmnEvent:
    """What an event waits for or does."""

    trigger: Trigger
    name: str = ""
    """The message's or signal's name, the error's code; the activity of a compensation. Empty: any."""
    timer: TimerDefinition | None = None
    condition: Expression | None = None
    """What a conditional event waits for."""
    correlation: Expression | None = None
    """`postern:correlation`: which instance a message is for."""
    filter: Expression | None = None
    """`postern:condition`: which messages of this name count."""


@dataclass(frozen=True, slots=True)
class Loop:
    """More than one round of an activity. Without a collection or a cardinality it is a standard loop."""

    is_multi_instance: bool
    is_sequential: bool = True
    cardinality: Expression | None = None
    collection: str = ""
    item: str = ""
    output_collection: str = ""
    output_item: str = ""
    completion: Expression | None = None
    condition: Expression | None = None
    """A standard loop goes on while this holds."""
    tests_before: bool = False
    maximum: int | None = None


@dataclass(frozen=True, slots=True)
class Assignment:
    """`variable = expression`, of a script task; or one input of a handler."""

    name: str
    expression: Expression


@dataclass(frozen=True, slots=True)
class FormField:
    """One field of a user task's form."""

    name: str
    label: str
    kind: str = "text"
    """text, number, boolean, date or choice."""
    is_required: bool = False
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Flow:
    id: str
    source: str
    target: str
    name: str = ""
    condition: Expression | None = None
    line: int = 0


@dataclass(frozen=True, slots=True)
class Node:
    id: str
    kind: NodeKind
    scope: str
    """The id of the scope it lies in."""
    name: str = ""
    line: int = 0
    incoming: tuple[str, ...] = ()
    """Ids of flows, in the order of the file; so is `outgoing`."""
    outgoing: tuple[str, ...] = ()
    default: str | None = None
    event: BpmnEvent | None = None
    attached_to: str | None = None
    """Of a boundary event: the activity it sits on."""
    is_interrupting: bool = True
    """Of boundary events and of the start of an event sub-process."""
    loop: Loop | None = None
    handler: str = ""
    """Of service and send tasks: `event`, `webhook`, `alert`, `message`, `external`, or a name registered in Python."""
    topic: str = ""
    inputs: tuple[Assignment, ...] = ()
    """Inputs of the handler; empty: all visible variables."""
    assigns: tuple[Assignment, ...] = ()
    form: tuple[FormField, ...] = ()
    called: str = ""
    """Of a call activity, a process or a case task: the key of the definition."""
    is_for_compensation: bool = False
    compensated_by: str | None = None
    """The activity that undoes this one: by its compensation boundary event and the association."""

    @property
    def trigger(self) -> Trigger:
        """The trigger of its event; NONE for elements without one."""
        return self.event.trigger if self.event is not None else Trigger.NONE


@dataclass(frozen=True, slots=True)
class ScopeDefinition:
    """The process, a sub-process or an event sub-process: what lies directly in it, in the order of the file."""

    id: str
    parent: str | None
    nodes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Definition:
    """One executable process or case of a file. `key` is the id of its process or case element."""

    key: str
    name: str
    kind: str
    """`bpmn` or `cmmn`."""
    scopes: dict[str, ScopeDefinition]
    nodes: dict[str, Node]
    flows: dict[str, Flow]
    boundaries: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Boundary events by the activity they sit on."""
    starts: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Start events by scope."""
    event_sub_processes: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Event sub-processes by the scope they lie in."""
    plan: CasePlan | None = None
    """Of a case; its nodes are its plan items, its scopes the case, its plan model and its stages."""
    upstream: dict[tuple[str, frozenset[str]], tuple[frozenset[str], frozenset[str]]] = field(
        default_factory=dict, compare=False, repr=False
    )
    """Cache of what lies upstream of a join, by the join and the flows at which tokens wait."""
