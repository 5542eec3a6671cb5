"""What whoever writes, starts and works for workflows meets."""

from config.common.web.pagination import PAGE_BYTES
from config.runtime.bounds.bound import Bound, count, size, span
from processes.workflows import filters, search_terms, selectors, task_rights
from processes.workflows.admin.tasks import actions
from processes.workflows.api import batch_shapes
from processes.workflows.engine import cron, event_names, form_files, patterns, problems, twin
from processes.workflows.engine import scenarios as played
from processes.workflows.engine.bpmn import (
    assignments,
    file,
    forms,
    json_forms,
    loops,
    outline,
    retries,
    vendor_forms,
    xml,
)
from processes.workflows.engine.cmmn import outline as case_outline
from processes.workflows.engine.cmmn import sentries
from processes.workflows.engine.definition import MAX_CANDIDATES
from processes.workflows.engine.diagram import decision_shapes, interchange
from processes.workflows.engine.dialects import process_files, report
from processes.workflows.engine.dmn import evaluation, logic, tables
from processes.workflows.engine.dmn import expressions as dmn_expressions
from processes.workflows.engine.dmn import parser as dmn
from processes.workflows.engine.execution import limits as engine
from processes.workflows.engine.execution import people
from processes.workflows.engine.expressions import limits as expressions
from processes.workflows.engine.feel import limits as feel
from processes.workflows.engine.feel import temporal
from processes.workflows.engine.lint import findings
from processes.workflows.engine.lint import tables as lint_tables
from processes.workflows.services import plan_step
from processes.workflows.services.batches import create as batches
from processes.workflows.services.batches import retries as batch_retries
from processes.workflows.services.batches import run as batch_run
from processes.workflows.services.definitions import drafts, library, publish, scenarios
from processes.workflows.services.events import amqp, starts
from processes.workflows.services.shadow import begin as shadow_begin
from processes.workflows.services.shadow import follow as shadow_follow
from processes.workflows.services.shadow import twins as shadow_twins

REFUSED = "400 `not_executable`"
INCIDENT = "an incident, the command is not carried out"
NOT_POSSIBLE = "409 `not_possible`"


def definition_bounds() -> list[Bound]:
    characters = "characters"
    return [
        Bound("file.bytes", "file", count(xml.MAX_BYTES, "bytes"), "definition", REFUSED),
        Bound("file.depth", "nesting of its XML", count(xml.MAX_DEPTH, "levels"), "definition", REFUSED),
        Bound("file.elements", "elements of its XML", count(xml.MAX_ELEMENTS), "definition", REFUSED),
        Bound("file.attributes", "attributes", count(xml.MAX_ATTRIBUTES), "element", REFUSED),
        Bound("file.nodes", "events, activities and gateways", count(outline.MAX_NODES), "process", REFUSED),
        Bound("file.nested", "nesting of sub-processes", count(outline.MAX_NESTED, "levels"), "process", REFUSED),
        Bound("file.flows", "sequence flows", count(outline.MAX_FLOWS), "process", REFUSED),
        Bound("file.names", "ids and names", count(file.MAX_NAME, characters), "element", REFUSED),
        *_form_bounds(),
        Bound("file.tries", "attempts at its work", count(retries.MAX_TRIES), "task", REFUSED),
        Bound("file.pauses", "pauses between attempts", count(retries.MAX_PAUSES), "task", REFUSED),
        Bound("file.pause", "pause", count(retries.LONGEST_PAUSE.days, "days"), "attempt", REFUSED),
        Bound(
            "file.variable",
            "name of a variable in a file of another tool",
            count(assignments.MAX_VARIABLE, characters),
            "name",
            "cut, or left out",
        ),
        Bound("file.loop", "`loopMaximum`", count(loops.MAX_ROUNDS), "loop", REFUSED),
        Bound("file.cron", "cron expression", count(cron.MAX_TEXT, characters), "timer", REFUSED),
        Bound("file.candidates", "candidate users, and groups", count(MAX_CANDIDATES), "task", REFUSED),
        Bound("file.items", "plan items", count(case_outline.MAX_ITEMS), "case", REFUSED),
        Bound("file.stages", "nesting of stages", count(case_outline.MAX_STAGES_DEEP, "levels"), "case", REFUSED),
        Bound("file.on_parts", "on-parts of a sentry", count(sentries.MAX_ON_PARTS), "sentry", REFUSED),
        Bound("file.awaited", "criteria, with all they wait for", count(sentries.MAX_AWAITED), "case", REFUSED),
        Bound("file.case_file", "items of the case file", count(case_outline.MAX_FILE_ITEMS), "case", REFUSED),
        Bound("file.expressions", "expressions", count(file.MAX_EXPRESSIONS), "definition", REFUSED),
        Bound(
            "file.expression_text",
            "text of all expressions",
            count(file.MAX_EXPRESSION_TEXT, characters),
            "definition",
            REFUSED,
        ),
        Bound("expression.text", "text", count(expressions.MAX_TEXT, characters), "expression", REFUSED),
        Bound("expression.parts", "parts", count(expressions.MAX_NODES), "expression", REFUSED),
        Bound("expression.depth", "nesting", count(expressions.MAX_DEPTH, "levels"), "expression", REFUSED),
        Bound(
            "file.problems",
            "problems that are named",
            count(problems.MOST_PROBLEMS),
            "definition",
            "the first are named",
        ),
        *_diagram_bounds(),
        *_draft_bounds(),
        *shadow_bounds(),
        Bound("file.processes", "processes that are run", count(process_files.MAX_PROCESSES), "file", REFUSED),
        Bound(
            "file.report", "entries of a list of its report", count(report.MOST_ENTRIES), "file", "counted in `more`"
        ),
    ]


def _form_bounds() -> list[Bound]:
    characters = "characters"
    return [
        Bound("file.fields", "fields of a form", count(forms.MAX_FIELDS), "task", REFUSED),
        Bound("file.forms", "forms sent with a file", count(form_files.MAX_FORMS), "call", REFUSED),
        Bound("file.choices", "choices of a field", count(forms.MAX_CHOICES), "field", REFUSED),
        Bound("file.pattern", "pattern of a field", count(patterns.MAX_PATTERN, characters), "field", "only drawn"),
        Bound("file.pattern_states", "states of its pattern", count(patterns.MAX_STATES), "field", "only drawn"),
        Bound(
            "file.matched",
            "text that is matched against a pattern",
            count(patterns.MAX_MATCHED, characters),
            "answer",
            "does not match",
        ),
        Bound(
            "file.groups", "groups of a JSON form inside one another", count(json_forms.MAX_DEPTH), "form", "left out"
        ),
        Bound("file.note", "text between fields", count(vendor_forms.MAX_NOTE, characters), "text", "cut"),
    ]


def _diagram_bounds() -> list[Bound]:
    undrawn = "not drawn"
    return [
        Bound("diagram.shapes", "shapes of its diagram", count(interchange.MOST_SHAPES), "definition", undrawn),
        Bound(
            "diagram.edges",
            "shapes and lines of its diagram",
            count(interchange.MOST_SHAPES + interchange.MOST_EDGES),
            "definition",
            undrawn,
        ),
        Bound("diagram.points", "points of a line", count(interchange.MOST_POINTS), "line", "the first, and the last"),
        Bound(
            "diagram.coordinate",
            "distance from the origin, and size",
            count(interchange.MAX_COORDINATE),
            "shape or line",
            "it is left out",
        ),
        Bound("diagram.decisions", "shapes of a graph", count(decision_shapes.MOST_SHAPES), "decision file", undrawn),
        Bound("diagram.links", "lines of a graph", count(decision_shapes.MOST_LINKS), "decision file", undrawn),
    ]


def shadow_bounds() -> list[Bound]:
    ends = "the twin ends without a difference"
    return [
        Bound(
            "shadows", "revisions on trial", count(shadow_begin.MOST_SHADOWS), "installation", "409 `too_many_shadows`"
        ),
        Bound(
            "shadow.twins",
            "instances that are followed at once",
            count(shadow_follow.MOST_TWINS),
            "shadow",
            f"one that was given nothing for {span(shadow_follow.IDLE)} gives way, else the new one is not followed",
        ),
        Bound("shadow.state", "state of a twin", count(shadow_twins.LARGEST_STATE, "characters"), "twin", ends),
        Bound("shadow.path", "places of a path", count(twin.MOST_ENTERED), "command", "a longer one is not compared"),
        Bound(
            "shadow.timers", "timers of its own", count(shadow_twins.MOST_FIRED), "input", "others with the next input"
        ),
        Bound("shadow.reported", "differences", count(shadow_twins.MOST_REPORTED), "twin", "the twin ends"),
        Bound(
            "shadow.places",
            "differences by kind and place",
            count(shadow_follow.MOST_PLACES),
            "shadow",
            "further ones are counted by their kind",
        ),
        Bound(
            "shadow.examples", "instances that are kept", count(shadow_follow.MOST_EXAMPLES), "difference", "counted"
        ),
        Bound("shadow.side", "text of one side", count(shadow_follow.LONGEST_SIDE, "characters"), "example", "cut"),
        Bound(
            "shadow.waiting",
            "steps that wait to be compared",
            count(shadow_follow.MOST_WAITING),
            "shadow",
            "no more are recorded until they are done",
        ),
        Bound("shadow.seconds", "time of a processor", span(shadow_follow.CPU_SECONDS), "second", "they wait"),
    ]


def decision_bounds() -> list[Bound]:
    characters, failed = "characters", "409 `decision_failed`; in an instance an incident"
    return [
        Bound("dmn.decisions", "decisions and functions", count(dmn.MAX_DECISIONS), "file", REFUSED),
        Bound("dmn.stored", "file with a copy for each decision", count(publish.MAX_STORED, "bytes"), "file", REFUSED),
        Bound("dmn.columns", "columns", count(tables.MAX_COLUMNS), "decision table", REFUSED),
        Bound("dmn.rules", "rules", count(tables.MAX_RULES), "decision table", REFUSED),
        Bound("dmn.entries", "entries", count(tables.MAX_CELLS), "decision table", REFUSED),
        Bound("dmn.nested", "nesting of boxed logic", count(logic.MAX_NESTED, "levels"), "decision", REFUSED),
        Bound("dmn.results", "values of all results", count(evaluation.MAX_RESULT_STEPS), "evaluation", failed),
        Bound("dmn.expressions", "different expressions", count(dmn_expressions.MAX_COMPILED), "file", REFUSED),
        Bound(
            "dmn.expression_text",
            "text of different expressions",
            count(dmn_expressions.MAX_COMPILED_TEXT, characters),
            "file",
            REFUSED,
        ),
        Bound("feel.text", "text", count(feel.MAX_TEXT, characters), "FEEL expression", REFUSED),
        Bound("feel.parts", "parts", count(feel.MAX_NODES), "FEEL expression", REFUSED),
        Bound("feel.depth", "nesting of brackets", count(feel.MAX_DEPTH, "levels"), "FEEL expression", REFUSED),
        Bound("feel.steps", "steps, with all that is required", count(feel.MAX_STEPS), "evaluation", failed),
        Bound("feel.string", "text that it works on", count(feel.MAX_STRING, characters), "operation", failed),
        Bound("feel.items", "list that it works on", count(feel.MAX_ITEMS, "items"), "operation", failed),
        Bound("feel.calls", "functions inside one another", count(feel.MAX_CALLS), "evaluation", failed),
        Bound("feel.height", "operators in a row", count(feel.MAX_HEIGHT), "FEEL expression", REFUSED),
        Bound("feel.digits", "digits of a number", count(feel.MAX_DIGITS), "number", REFUSED),
        Bound("feel.power", "exponent", count(feel.MAX_POWER), "operation", "null"),
        Bound("feel.months", "duration of years and months", count(temporal.MAX_MONTHS, "months"), "operation", "null"),
        Bound("lint.findings", "findings that are named", count(findings.MAX_FINDINGS), "file", "the first are named"),
        Bound(
            "lint.rules",
            "rules that are compared with one another",
            count(lint_tables.MAX_RULES),
            "decision table",
            "a larger table is not judged",
        ),
    ]


def expression_bounds() -> list[Bound]:
    return [
        Bound("expression.steps", "steps of an expression", count(expressions.MAX_STEPS), "evaluation", INCIDENT),
        Bound(
            "expression.string",
            "text that it works on",
            count(expressions.MAX_STRING, "characters"),
            "operation",
            INCIDENT,
        ),
        Bound(
            "expression.items",
            "list or map that it works on",
            count(expressions.MAX_ITEMS, "items"),
            "operation",
            INCIDENT,
        ),
        Bound("expression.integer", "whole number", count(expressions.MAX_INTEGER), "operation", INCIDENT),
    ]


def instance_bounds() -> list[Bound]:
    brought = f"{NOT_POSSIBLE} where a command brings so much, else an incident"
    task_bytes = "variables that external tasks are given"
    weighed = "variables written, copied and removed"
    return [
        Bound("command.steps", "elements entered", count(engine.MAX_STEPS), "command", INCIDENT),
        Bound("command.looks", "steps of all expressions and joins", count(engine.MAX_CHECKS), "command", INCIDENT),
        Bound("command.weighed", weighed, count(engine.MAX_MEASURED, "bytes"), "command", INCIDENT),
        Bound("command.effects", "variables that go out", count(engine.MAX_EFFECTS, "bytes"), "command", INCIDENT),
        Bound("instance.depth", "scopes inside one another", count(engine.MAX_SCOPES_DEEP), "instance", INCIDENT),
        Bound(
            "chain.hops",
            f"events, handlers and timers of less than {engine.LEAST_WAIT:g} s that lead to one another",
            count(engine.MAX_HOPS),
            "chain",
            INCIDENT,
        ),
        Bound(
            "chain.starts",
            f"instances that chains of {starts.LONG_CHAIN} or more begin in a minute",
            count(starts.MOST_STARTS),
            "definition",
            "kept with an incident; past as many again in the log alone",
        ),
        Bound("instance.tokens", "tokens", count(engine.MAX_TOKENS), "instance", INCIDENT),
        Bound("instance.items", "items of its cases", count(engine.MAX_ITEMS), "instance", INCIDENT),
        Bound("instance.rounds", "rounds of a multi-instance activity", count(engine.MAX_ROUNDS), "activity", INCIDENT),
        Bound(
            "instance.calls", "processes and cases that call one another", count(engine.MAX_CALLS), "instance", INCIDENT
        ),
        Bound("instance.undo", "activities that can be undone", count(engine.MAX_ENTRIES), "instance", INCIDENT),
        Bound("instance.variables", "variables", count(engine.MAX_VARIABLES, "bytes"), "instance", brought),
        Bound("variable.depth", "nesting of a variable", count(engine.MAX_DEPTH, "levels"), "variable", brought),
        Bound("variable.integer", "whole number", f"{engine.MAX_INTEGER - 1:,}", "variable", NOT_POSSIBLE),
        Bound("variable.name", "name of a variable", count(engine.MAX_NAME, "characters"), "variable", NOT_POSSIBLE),
        Bound(
            "event.type",
            "type of an event that an instance sends",
            count(event_names.LONGEST_TYPE, "characters"),
            "event",
            INCIDENT,
        ),
        Bound(
            "definition.cache",
            "compiled definitions that are kept",
            size(library.COMPILED_BYTES),
            "process",
            "the one used longest ago is compiled again when it is needed; the one in use is kept whatever it takes",
        ),
        *_search_bounds(),
        *batch_bounds(),
        *_task_bounds(),
        Bound("event.message", "event over AMQP", size(amqp.LARGEST), "message", "rejected, and in the log"),
        Bound("external.bytes", task_bytes, size(PAGE_BYTES), "fetch", "fewer tasks, at least one"),
    ]


def batch_bounds() -> list[Bound]:
    return [
        Bound("batch.instances", "instances", count(batches.MOST_INSTANCES), "batch", "409 `too_many_instances`"),
        Bound("batch.named", "instances that are named", count(batch_shapes.MOST_NAMED), "batch", "400"),
        Bound(
            "batches.under_way",
            "batches under way",
            count(batches.MOST_UNDER_WAY),
            "installation",
            "409 `too_many_batches`",
        ),
        Bound(
            "batches", "batches that are kept", count(batches.MOST_BATCHES), "installation", "409 `too_many_batches`"
        ),
        Bound("batch.slice", "instances changed at once", count(batch_run.SLICE), "batch", "the others wait"),
        Bound(
            "batch.incidents",
            "incidents that are retried",
            count(batch_retries.MOST_RETRIED),
            "instance and batch",
            "the rest stays open",
        ),
        Bound(
            "batch.outcomes",
            "different outcomes that are shown",
            count(selectors.MOST_OUTCOMES),
            "batch",
            "the most frequent",
        ),
    ]


def _task_bounds() -> list[Bound]:
    return [
        Bound("task.name", "name of a user or group", count(people.LONGEST_NAME, "characters"), "task", "cut, a note"),
        Bound("task.notes", "notes of what could not be evaluated", count(people.MOST_NOTES), "task", "the first kept"),
        Bound(
            "task.search",
            "names and variables that a task is found by",
            count(plan_step.LONGEST_SEARCH, "characters"),
            "task",
            "cut: what is beyond is not found",
        ),
        Bound("task.words", "words of a search for tasks", count(selectors.MOST_WORDS), "search", "the first count"),
        Bound("task.groups", "groups that tasks are offered to", count(task_rights.MOST_GROUPS), "person", "the first"),
        Bound("task.people", "accounts to hand a task to", count(actions.MOST_PEOPLE), "page", "the first are offered"),
    ]


def _search_bounds() -> list[Bound]:
    return [
        Bound(
            "instance.terms",
            "elements, and variables, that an instance is found by",
            count(search_terms.MOST_VARIABLES),
            "instance",
            "the first",
        ),
        Bound(
            "instance.term",
            "text of a variable that an instance is found by",
            count(search_terms.LONGEST_VALUE, "characters"),
            "variable",
            "a longer one is not found",
        ),
        Bound("filter.variables", "variables of a filter", count(filters.MOST_VARIABLES), "call", "400"),
    ]


def _draft_bounds() -> list[Bound]:
    return [
        Bound("draft.bytes", "drawing that is not published", count(xml.MAX_BYTES, "bytes"), "draft", "not saved"),
        Bound("drafts", "drawings that are not published", count(drafts.MOST_DRAFTS), "installation", "not saved"),
        Bound("scenarios.bytes", "scenarios", count(scenarios.LARGEST, "bytes"), "definition", "400"),
        Bound("scenarios.number", "number of scenarios", count(scenarios.MOST_SCENARIOS), "definition", "400"),
        Bound("scenarios.steps", "steps", count(played.MOST_STEPS), "scenario", "400"),
        Bound(
            "scenarios.seconds",
            "playing all scenarios",
            span(scenarios.LONGEST_SECONDS),
            "definition",
            "the rest counts as failed",
        ),
        Bound("scenario.timers", "timers that fall due", count(played.MOST_TIMERS), "scenario", "it counts as failed"),
    ]
