"""Small cases for tests, written as CMMN 1.1 files.

    case(
        human("A"),
        stage("S", human("B", manual=True), milestone("M", entry="B complete"), exit="A complete if x > 1"),
        listener("L"),
        human("C", entry=["A complete, M occur", "file claim update", "if y == 2"], repeats=True),
        files=["claim"],
    )

Every part is XML text, so anything else can stand between. The plan item of `human("A")` has the id `A`, its definition
element `A_def`, its criteria `A_entry1`, `A_exit1`, …, their sentries `A_entry1_sentry`, …. The case is `case1`, its
plan model `plan`.

A sentry is written as what it waits for, then its condition: `A complete, M occur if x > 1`; `file claim update` is of
a case file item, `A exit by A_exit2` names the exit criterion. A rule is True, or its condition.
"""

import re
from collections.abc import Iterable
from typing import TypedDict, Unpack
from xml.sax.saxutils import escape, quoteattr

from processes.workflows.engine.definition import Definition
from processes.workflows.engine.parser import parse_definition

CMMN = "http://www.omg.org/spec/CMMN/20151109/MODEL"
Sentries = str | Iterable[str]
Rule = bool | str


class Common(TypedDict, total=False):
    """What every plan item may have."""

    name: str
    entry: Sentries
    exit: Sentries
    repeats: Rule
    required: Rule
    manual: Rule
    inside: str
    """More XML within the plan item."""


class Whole(TypedDict, total=False):
    """What the case may have."""

    key: str
    name: str
    auto: bool
    exit: Sentries
    files: str | Iterable[str]
    """Case file items, their parts behind a point: `order`, `order.lines`."""
    roots: str
    """More XML beside the case."""


def read(*parts: str, **whole: Unpack[Whole]) -> Definition:
    """Read the case that is made of these parts."""
    return parse_definition(case(*parts, **whole).encode())


def case(*parts: str, **whole: Unpack[Whole]) -> str:
    """Write a whole file."""
    files, name = whole.get("files", ()), whole.get("name", "")
    held = _element("caseFileModel", file_items(files)) if files else ""
    criteria, sentries = _criteria("plan", "exit", whole.get("exit", ()))
    model = _element("casePlanModel", *parts, criteria, sentries, id="plan", autoComplete=whole.get("auto", False))
    body = _element("case", held, model, id=whole.get("key", "case1"), name=name)
    spaces = f'xmlns="{CMMN}" xmlns:postern="https://postern.dev/bpmn/1.0"'
    return f'<definitions {spaces} targetNamespace="urn:test">\n{whole.get("roots", "")}{body}</definitions>\n'


def stage(key: str, *parts: str, auto: bool = False, **common: Unpack[Common]) -> str:
    return plan_item(key, _element("stage", *parts, id=f"{key}_def", autoComplete=auto), **common)


def human(key: str, *, blocking: bool = True, form: str = "", **common: Unpack[Common]) -> str:
    attributes = {"isBlocking": "" if blocking else "false", "postern:form": form}
    return plan_item(key, _element("humanTask", id=f"{key}_def", **attributes), **common)


def process_task(key: str, process: str = "", *, by: str = "", **common: Unpack[Common]) -> str:
    """Write a task that runs a process, by its key or by an expression that gives it."""
    return plan_item(key, _calling("process", key, process, by), **common)


def case_task(key: str, case: str = "", *, by: str = "", **common: Unpack[Common]) -> str:
    return plan_item(key, _calling("case", key, case, by), **common)


def milestone(key: str, **common: Unpack[Common]) -> str:
    return plan_item(key, _element("milestone", id=f"{key}_def"), **common)


def listener(key: str, **common: Unpack[Common]) -> str:
    """Write a user event listener."""
    return plan_item(key, _element("userEventListener", id=f"{key}_def"), **common)


def timer(key: str, expression: str, *, after: str = "", **common: Unpack[Common]) -> str:
    """Write a timer event listener; `after` is what its time is counted from, such as `A complete`."""
    trigger = _on_part(after).replace("OnPart", "StartTrigger") if after else ""
    written = _element("timerExpression", escape(expression))
    return plan_item(key, _element("timerEventListener", written, trigger, id=f"{key}_def"), **common)


def plan_item(key: str, definition: str = "", *, definition_ref: str = "", **common: Unpack[Common]) -> str:
    """Write a plan item, its sentries and what defines it; without that, it is that of another plan item."""
    entries, entry_sentries = _criteria(key, "entry", common.get("entry", ()))
    exits, exit_sentries = _criteria(key, "exit", common.get("exit", ()))
    control = rules(
        repeats=common.get("repeats", False), required=common.get("required", False), manual=common.get("manual", False)
    )
    item = _element(
        "planItem",
        _element("itemControl", control) if control else "",
        entries,
        exits,
        common.get("inside", ""),
        id=key,
        name=common.get("name", ""),
        definitionRef=definition_ref or f"{key}_def",
    )
    return item + entry_sentries + exit_sentries + definition


def rules(*, repeats: Rule = False, required: Rule = False, manual: Rule = False) -> str:
    """Write what stands in an itemControl or a defaultControl."""
    given = {"repetitionRule": repeats, "requiredRule": required, "manualActivationRule": manual}
    return "".join(_element(name, _condition(rule)) for name, rule in given.items() if rule is not False)


def sentry(key: str, text: str) -> str:
    """Write a sentry that somebody refers to by its id."""
    match = re.fullmatch(r"(?s)(.*?)(?:\bif\b(.*))?", text)
    assert match is not None
    parts = [_on_part(part) for part in match[1].split(",") if part.strip()]
    if_part = _element("ifPart", _condition(match[2].strip())) if match[2] is not None else ""
    return _element("sentry", *parts, if_part, id=key)


def file_items(names: str | Iterable[str]) -> str:
    """Write case file items; the id of each is its way: `order`, `order.lines`."""
    ways = sorted([names] if isinstance(names, str) else names)
    tops = [way for way in ways if not any(way.startswith(f"{other}.") for other in ways)]
    return "".join(_file_item(top, [way for way in ways if way.startswith(f"{top}.")]) for top in tops)


def _file_item(way: str, below: list[str]) -> str:
    children = _element("children", file_items(below)) if below else ""
    return _element("caseFileItem", children, id=way, name=way.rpartition(".")[2])


def _calling(what: str, key: str, named: str, by: str) -> str:
    expression = _element(f"{what}RefExpression", escape(by)) if by else ""
    return _element(f"{what}Task", expression, id=f"{key}_def", **{f"{what}Ref": named})


def _criteria(key: str, role: str, texts: Sentries) -> tuple[str, str]:
    """Write the criteria of a plan item, and the sentries they refer to."""
    given = [texts] if isinstance(texts, str) else list(texts)
    ids = [f"{key}_{role}{number}" for number in range(1, len(given) + 1)]
    criteria = (_element(f"{role}Criterion", id=one, sentryRef=f"{one}_sentry") for one in ids)
    return "".join(criteria), "".join(sentry(f"{one}_sentry", text) for one, text in zip(ids, given, strict=True))


def _on_part(text: str) -> str:
    words = text.split()
    event_of = "caseFileItem" if words[0] == "file" else "planItem"
    source, event, *by = words[1:] if words[0] == "file" else words
    written = _element("standardEvent", event)
    return _element(f"{event_of}OnPart", written, sourceRef=source, exitCriterionRef=by[1] if by else "")


def _condition(rule: Rule) -> str:
    return _element("condition", escape(rule)) if isinstance(rule, str) else ""


def _element(tag: str, *inside: str, **attributes: str | bool) -> str:
    """Write an element on lines of its own; attributes that say nothing are left out."""
    given = {name: "true" if value is True else value for name, value in attributes.items() if value}
    written = "".join(f" {name}={quoteattr(str(value))}" for name, value in given.items())
    body = "".join(inside)
    return f"<{tag}{written}>{body}</{tag}>\n" if body else f"<{tag}{written} />\n"
