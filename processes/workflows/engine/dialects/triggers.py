"""Timers and conditions of events; an event of which nothing says when it fires, or only code, waits for a message."""

import re

from processes.workflows.engine.bpmn.assignments import is_variable
from processes.workflows.engine.bpmn.extensions import POSTERN
from processes.workflows.engine.bpmn.timers import find_literal_kind
from processes.workflows.engine.cron import NotCron, is_cron, parse_cron
from processes.workflows.engine.definition import TimerKind
from processes.workflows.engine.dialects.context import Context
from processes.workflows.engine.dialects.drafts import Draft
from processes.workflows.engine.dialects.vendors import take_attribute, take_elements

_TIMERS = {"timeDate": "date", "timeDuration": "duration", "timeCycle": "cycle"}
_TIMER_NAMES = {kind: name for name, kind in _TIMERS.items()}


def translate_triggers(context: Context, node: Draft) -> None:
    """Translate the event definitions of an event."""
    for definition in list(node.own()):
        if definition.name == "timerEventDefinition":
            _translate_timer(context, node, definition)
        elif definition.name == "conditionalEventDefinition":
            _translate_conditional(context, node, definition)
        elif definition.name == "errorEventDefinition":
            _make_interrupting(context, node)
            _name_caught(context, node, definition)
    if node.name in ("boundaryEvent", "intermediateCatchEvent", "startEvent") and not _has_definition(node):
        _translate_registered(context, node)
    if node.name == "intermediateCatchEvent" and not _has_definition(node):
        node.name = "intermediateThrowEvent"
        context.report.translate(node, "intermediateCatchEvent", "", "passed through: nothing is waited for")


def _translate_registered(context: Context, node: Draft) -> None:
    """Let an event that only another engine knows, of a registry or a variable, wait for a message of its name."""
    found = take_elements(node, *REGISTERED)
    if found or node.name == "boundaryEvent":
        what = found[0].name if found else "eventType"
        name = (found[0].get("variableName") or found[0].text) if found else ""
        wait_for_message(context, node, node.add("messageEventDefinition"), what, name, name)


REGISTERED = ("eventType", "variableListenerEventDefinition")
"""What stands instead of an event definition of the standard."""


def _has_definition(node: Draft) -> bool:
    return any(child.name.endswith("EventDefinition") or child.name == "eventDefinitionRef" for child in node.own())


def _make_interrupting(context: Context, node: Draft) -> None:
    attribute = {"boundaryEvent": "cancelActivity", "startEvent": "isInterrupting"}.get(node.name, "")
    if node.get(attribute) in ("false", "0"):
        node.attributes[attribute] = "true"
        context.report.translate(node, attribute, "false", "true: an error always interrupts")


def _name_caught(context: Context, node: Draft, definition: Draft) -> None:
    """Let an error be written into the variables that the event which catches it names."""
    for theirs, ours in (("errorCodeVariable", "codeVariable"), ("errorMessageVariable", "messageVariable")):
        what, value = take_attribute(definition, theirs)
        if value and node.name == "endEvent":
            context.report.draw(definition, f"{what} {value}", NOT_CAUGHT, of=node)
        elif value and not is_variable(value):
            context.report.draw(definition, f"{what} {value}", NO_VARIABLE, of=node)
        elif value:
            definition.attributes[f"{{{POSTERN}}}{ours}"] = value
            context.report.translate(definition, what, value, f"postern:{ours}", of=node)


NOT_CAUGHT = "An error is written to variables where it is caught."
NO_VARIABLE = "The name of a variable is one word of letters and digits."


def _translate_timer(context: Context, node: Draft, definition: Draft) -> None:
    timers = [child for child in definition.own() if child.name in _TIMERS and child.text]
    definition.drop(lambda child: child.name in _TIMERS and not child.text)
    if not timers:
        wait_for_message(context, node, definition, "timerEventDefinition", "")
        return
    for timer in timers[1:]:
        definition.drop(lambda child, timer=timer: child is timer)  # type: ignore[misc]
        context.report.draw(timer, timer.name, ONE_TIME, of=node)
    timer = timers[0]
    _, end = take_attribute(timer, "endDate")
    if end:
        context.report.draw(timer, "endDate", NO_END, of=node)
    _rewrite_timer(context, node, timer)
    # A part of a literal may be an expression: R3/${interval}.
    has_expression = "${" in timer.text or "#{" in timer.text
    kind = None if has_expression else find_literal_kind(timer.text)
    if kind is TimerKind.CYCLE and is_cron(timer.text) and not _is_readable(timer.text):
        wait_for_message(context, node, definition, timer.name, timer.text)
        return
    if kind is not None:
        if kind.value != _TIMERS[timer.name]:
            context.report.translate(timer, timer.name, timer.text, _TIMER_NAMES[kind.value], of=node)
            timer.name = _TIMER_NAMES[kind.value]
        return
    text = context.translate(timer, timer.text, timer.name, of=node)
    if text is None:
        wait_for_message(context, node, definition, timer.name, timer.text)
    else:
        timer.text = text


_LENGTH = re.compile(r"(?:(\d{1,6})d)?(?:(\d{1,6})h)?(?:(\d{1,6})m(?!s))?(?:(\d{1,6})s)?(?:(\d{1,9})ms)?", re.ASCII)
_ENDED = re.compile(r"(R\d*/P[^/]*)/(.+)", re.DOTALL)
_HASTY = re.compile(r"(R\d*/)PT(?:0|0?\.\d+)S", re.ASCII)
_ZONE = re.compile(r"(.+(?:Z|[+-]\d\d:\d\d))\[[\w/+-]{1,60}\]", re.ASCII)
_MACROS = {
    "@yearly": "0 0 0 1 1 *",
    "@annually": "0 0 0 1 1 *",
    "@monthly": "0 0 0 1 * *",
    "@weekly": "0 0 0 * * 0",
    "@daily": "0 0 0 * * *",
    "@midnight": "0 0 0 * * *",
    "@hourly": "0 0 * * * *",
}


def _rewrite_timer(context: Context, node: Draft, timer: Draft) -> None:
    """Write lengths such as 1d12h or 500ms in ISO 8601, and cycles without their end or faster than a second."""
    before = timer.text
    timer.text = _MACROS.get(timer.text.lower(), timer.text)
    if match := _ZONE.fullmatch(timer.text):
        timer.text = match[1]  # the offset says the same as the name of its zone
    if timer.text.startswith("R"):
        timer.text = re.sub(r"\s*/\s*", "/", timer.text)
    cycle, _, repeated = timer.text.partition("###")
    if repeated.isascii() and repeated.isdigit():
        repeated += "ms"
    if (length := write_length(repeated or cycle)) is not None:
        timer.text = length if timer.name == "timeDuration" else f"R/{length}"
    elif match := _ENDED.fullmatch(timer.text):
        timer.text = match[1]
        context.report.draw(timer, match[2], NO_END, of=node)
    if match := _HASTY.fullmatch(timer.text):
        timer.text = f"{match[1]}PT1S"
    if timer.text != before:
        context.report.translate(timer, timer.name, before, timer.text, of=node)


def write_length(text: str) -> str | None:
    """Write a length such as 1d12h or 500ms in ISO 8601; None where the text is none."""
    match = _LENGTH.fullmatch(text.strip())
    if match is None or not any(match.groups()):
        return None
    days, hours, minutes, seconds, milliseconds = match.groups()
    parts = [f"{days}D"] if days else []
    clock = [f"{part}{unit}" for part, unit in ((hours, "H"), (minutes, "M")) if part]
    if seconds or milliseconds:
        length = f"{int(seconds or 0) + int(milliseconds or 0) / 1000:.3f}"
        clock.append(f"{length.rstrip('0').rstrip('.')}S")
    return "P" + "".join(parts) + ("T" + "".join(clock) if clock else "")


def _is_readable(text: str) -> bool:
    try:
        parse_cron(text.strip())
    except NotCron:
        return False
    return True


ONE_TIME = "A timer has one time: the first that is written counts."
NO_END = "A cycle ends after its number of times, not at a date."


def _translate_conditional(context: Context, node: Draft, definition: Draft) -> None:
    condition = definition.find("condition")
    language = condition.attributes.pop("language", "") if condition is not None else ""
    for name in ("variableName", "variableEvents"):
        what, value = take_attribute(definition, name)
        if value:
            context.report.draw(definition, what, EVERY_CHANGE, of=node)
    written = condition.text if condition is not None else ""
    text = context.translate(definition, written, "condition", of=node, language=language) if written else None
    if condition is None or text is None:
        wait_for_message(context, node, definition, "condition", written)
    else:
        condition.text = text


EVERY_CHANGE = "A condition is looked at after every change of variables."


def wait_for_message(context: Context, node: Draft, definition: Draft, what: str, before: str, name: str = "") -> None:
    """Let an event wait for a message of its own name, since nothing here can tell when it fires."""
    name = " ".join((name or node.get("name") or node.id).split())[:200]
    key = f"message~{name}"
    if key not in context.roots:
        context.roots[key] = context.root.add("message", id=key, name=name)
        context.ids.add(key)
    definition.name = "messageEventDefinition"
    definition.children = []
    definition.attributes["messageRef"] = key
    context.report.translate(definition, what, before, f"waits for the message “{name}”", of=node)
