"""What whoever writes, starts and works for workflows meets."""

from config.common.web.pagination import PAGE_BYTES
from config.runtime.bounds.bound import Bound, count, size
from processes.workflows.engine import problems
from processes.workflows.engine.bpmn import file, forms, outline, xml
from processes.workflows.engine.cmmn import outline as case_outline
from processes.workflows.engine.cmmn import sentries
from processes.workflows.engine.execution import limits as engine
from processes.workflows.engine.expressions import limits as expressions
from processes.workflows.services import steps
from processes.workflows.services.events import amqp, starts

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
        Bound("file.fields", "fields of a form", count(forms.MAX_FIELDS), "task", REFUSED),
        Bound("file.choices", "choices of a field", count(forms.MAX_CHOICES), "field", REFUSED),
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
    return [
        Bound("command.steps", "elements entered", count(engine.MAX_STEPS), "command", INCIDENT),
        Bound("command.looks", "steps of all expressions and joins", count(engine.MAX_CHECKS), "command", INCIDENT),
        Bound(
            "command.weighed",
            "variables written, copied and removed",
            count(engine.MAX_MEASURED, "bytes"),
            "command",
            INCIDENT,
        ),
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
        Bound("variable.name", "name of a variable", count(engine.MAX_NAME, "characters"), "variable", NOT_POSSIBLE),
        Bound(
            "event.type",
            "type of an event that an instance sends",
            count(steps.LONGEST_TYPE, "characters"),
            "event",
            INCIDENT,
        ),
        Bound("event.message", "event over AMQP", size(amqp.LARGEST), "message", "rejected, and in the log"),
        Bound("external.bytes", task_bytes, size(PAGE_BYTES), "fetch", "fewer tasks, at least one"),
    ]
