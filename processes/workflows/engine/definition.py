"""A definition as the engine runs it: parsed once, immutable, shared by all instances of a revision.

Nodes and flows are keyed by their id in the file. A scope has variables and tokens of its own: the process itself, a
sub-process, an event sub-process.
"""

from dataclasses import dataclass, field
from enum import StrEnum

from processes.workflows.engine.case_plan import CasePlan
from processes.workflows.engine.dmn.model import DecisionModel, FeelExpression
from processes.workflows.engine.expressions import Expression
from processes.workflows.engine.patterns import Pattern

MAX_CANDIDATES = 50
"""Users of one task, and groups: neither a file nor an expression may name more."""


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
    BUSINESS_RULE_TASK = "business_rule_task"
    CASE_PLAN = "case_plan"
    STAGE = "stage"
    HUMAN_TASK = "human_task"
    PROCESS_TASK = "process_task"
    CASE_TASK = "case_task"
    DECISION_TASK = "decision_task"
    MILESTONE = "milestone"
    TIMER_LISTENER = "timer_event_listener"
    USER_LISTENER = "user_event_listener"


LISTENERS = frozenset({NodeKind.TIMER_LISTENER, NodeKind.USER_LISTENER})
CASE_ACTIVITIES = frozenset(
    {NodeKind.STAGE, NodeKind.HUMAN_TASK, NodeKind.PROCESS_TASK, NodeKind.CASE_TASK, NodeKind.DECISION_TASK}
)
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
    ESCALATION = "escalation"
    CANCEL = "cancel"
    """Of a transaction: what was done in it is undone, and its cancel event continues."""


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
    """The message's or signal's name, the code of an error or escalation; what is compensated. Empty: any."""
    timer: TimerDefinition | None = None
    condition: Expression | None = None
    """What a conditional event waits for."""
    correlation: Expression | None = None
    """`postern:correlation`: which instance a message is for."""
    filter: Expression | None = None
    """`postern:condition`: which messages of this name count."""
    code_variable: str = ""
    """`postern:codeVariable` of an event that catches errors: gets the code; `message_variable` what was said of it."""
    message_variable: str = ""


@dataclass(frozen=True, slots=True)
class Loop:
    """More than one round of an activity. Without a collection or a cardinality it is a standard loop."""

    is_multi_instance: bool
    is_sequential: bool = True
    cardinality: Expression | None = None
    collection: str = ""
    collection_by: Expression | None = None
    """Gives the collection where it is no variable of its own."""
    item: str = ""
    output_collection: str = ""
    output_item: str = ""
    output_by: Expression | None = None
    """What a round adds to the output, where it is no variable of its own."""
    completion: Expression | None = None
    condition: Expression | None = None
    """A standard loop goes on while this holds."""
    tests_before: bool = False
    maximum: int | None = None


@dataclass(frozen=True, slots=True)
class Assignment:
    """`variable = expression`, of a script task; or one input or output of an activity."""

    name: str
    expression: Expression


@dataclass(frozen=True, slots=True)
class TextValue:
    """A text of the file that may hold expressions: `sales`, `=manager`, `${region}-sales`."""

    parts: tuple[str | Expression, ...]

    @property
    def expression(self) -> Expression | None:
        """The expression that the text consists of, if it is nothing else: its value need not be a text."""
        return self.parts[0] if len(self.parts) == 1 and isinstance(self.parts[0], Expression) else None


@dataclass(frozen=True, slots=True)
class TaskPeople:
    """Whose a task is and by when, as the file says it; evaluated when the task opens."""

    assignee: TextValue | None = None
    users: tuple[TextValue, ...] = ()
    """Candidates: any of them may claim the task."""
    groups: tuple[TextValue, ...] = ()
    due: TextValue | None = None
    follow_up: TextValue | None = None
    priority: TextValue | None = None


@dataclass(frozen=True, slots=True)
class FormField:
    """One field of a user task's form."""

    name: str
    label: str
    kind: str = "text"
    """text, number, boolean, date, datetime, time, choice, choices (any number of them), or note (only shown)."""
    is_required: bool = False
    choices: tuple[str, ...] = ()
    choice_labels: tuple[str, ...] = ()
    """As people read the choices, in their order; empty: as they are."""
    minimum: float | None = None
    maximum: float | None = None
    min_length: int | None = None
    max_length: int | None = None
    is_whole: bool = False
    """Of a number: without a fraction."""
    is_long: bool = False
    """Of a text: of several lines."""
    is_read_only: bool = False
    default: TextValue | None = None
    """Shown while the variable has no value."""
    pattern: Pattern | None = None
    """Of a text: what the whole of it must match."""
    hint: str = ""
    hidden_by: FeelExpression | None = None
    """While it holds, the field is not asked for."""


class ResultMapping(StrEnum):
    """What of a decision's result a variable gets; the names are those of Camunda 7, except for the first."""

    RESULT = "result"
    """The result as it is."""
    SINGLE_ENTRY = "singleEntry"
    SINGLE_RESULT = "singleResult"
    COLLECT_ENTRIES = "collectEntries"
    RESULT_LIST = "resultList"


@dataclass(frozen=True, slots=True)
class RevisionChoice:
    """Which revision of a definition is called: by its number, or the newest one with a version tag."""

    expression: Expression
    is_tag: bool = False


@dataclass(frozen=True, slots=True)
class DecisionCall:
    """The decision that a task evaluates, and what becomes of its result."""

    key: str
    expression: Expression | None = None
    """Gives the key, where it is not named."""
    variable: str = ""
    """Empty: each output is written under its own name."""
    mapping: ResultMapping = ResultMapping.RESULT
    revision: RevisionChoice | None = None
    """None: the newest."""


@dataclass(frozen=True, slots=True)
class RetryPlan:
    """How often the work of a task is tried in all, and the pauses between in seconds; the last one repeats."""

    tries: int
    pauses: tuple[float, ...] = ()


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
    retry: RetryPlan | None = None
    """Of work that can fail: how often it is tried; None: as whoever does it says."""
    inputs: tuple[Assignment, ...] = ()
    """Inputs of the handler, the sub-process or what is called; empty: all visible variables. Of a thrown signal or
    message: what it carries."""
    gets_all: bool = False
    """What is called gets all visible variables besides its inputs."""
    outputs: tuple[Assignment, ...] = ()
    """Written when the activity is completed, from what it has returned and its inputs."""
    returns_all: bool = True
    """Whatever the activity has returned is written, too."""
    assigns: tuple[Assignment, ...] = ()
    form: tuple[FormField, ...] = ()
    people: TaskPeople | None = None
    """Of tasks for people: whose they are and by when."""
    called: str = ""
    """Of a call activity, a process or a case task: the key of the definition."""
    called_by: Expression | None = None
    """Of a call activity: gives the key, when the file does not name it."""
    revision: RevisionChoice | None = None
    """Of what calls a definition; None: its newest revision."""
    decision: DecisionCall | None = None
    """Of a business rule or decision task."""
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
    """One executable process, case or decision of a file. `key` is the id of its element."""

    key: str
    name: str
    kind: str
    """`bpmn`, `cmmn` or `dmn`."""
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
    decision: DecisionModel | None = None
    """Of a decision, which has neither nodes nor scopes."""
    version_tag: str = ""
    """What its author calls this version: a revision can be called by it."""
    upstream: dict[tuple[str, frozenset[str]], tuple[frozenset[str], frozenset[str]]] = field(
        default_factory=dict, compare=False, repr=False
    )
    """Cache of what lies upstream of a join, by the join and the flows at which tokens wait."""
