"""Whose a task is and by when: extensions of ours and of other tools, the performers of the standard, lanes.

All of them say the same under the same names: `assignee`, `candidateUsers`, `candidateGroups`, `dueDate`,
`followUpDate`, `priority`. A value is literal, or an expression: `=manager`, `${manager}`, `${region}-sales`.
"""

import re
from collections.abc import Iterable, Iterator

from processes.workflows.engine.bpmn.extensions import Extensions, read_value
from processes.workflows.engine.bpmn.file import MAX_NAME, Subject, quote
from processes.workflows.engine.bpmn.xml import XmlElement
from processes.workflows.engine.definition import MAX_CANDIDATES, TaskPeople, TextValue
from processes.workflows.engine.expressions import Expression
from processes.workflows.engine.iso import NotIso, parse_datetime, parse_duration

PEOPLE = frozenset({"assignee", "candidateUsers", "candidateGroups", "dueDate", "followUpDate", "priority"})
VENDORS = frozenset(
    f"http://{place}"
    for place in (
        "camunda.org/schema/1.0/bpmn",
        "camunda.org/schema/1.0/cmmn",
        "camunda.org/bpmn",
        "operaton.org/schema/1.0/bpmn",
        "operaton.org/schema/1.0/cmmn",
        "flowable.org/bpmn",
        "flowable.org/cmmn",
        "activiti.org/bpmn",
    )
)
ZEEBE = "http://camunda.org/schema/zeebe/1.0"


def read_people(subject: Subject, extensions: Extensions, *, lane: str = "") -> TaskPeople | None:
    """Return whose a task is; None where the file does not say. A lane counts where nobody else is named."""
    own = {name: text for name in sorted(PEOPLE) if (text := extensions.value(name))}
    said = {name: _read_values(subject, name, text, is_own=True) for name, text in own.items()}
    for name, text in _list_foreign(subject.element):
        said.setdefault(name, _read_values(subject, name, text, is_own=False))
    users, groups = said.pop("candidateUsers", ()), said.pop("candidateGroups", ())
    owners = list(_list_performers(subject.element, "potentialOwner"))
    users += tuple(TextValue((name,)) for kind, name in owners if kind == "user")
    groups += tuple(TextValue((name,)) for kind, name in owners if kind == "group")
    performer = next((name for _, name in _list_performers(subject.element, "humanPerformer")), "")
    if performer:
        said.setdefault("assignee", (TextValue((performer,)),))
    if lane and not (users or groups or "assignee" in said):
        groups = (TextValue((lane,)),)
    if max(len(users), len(groups)) > MAX_CANDIDATES:
        subject.refuse(f"A task has at most {MAX_CANDIDATES} candidate users and as many groups.")
    if not (said or users or groups):
        return None
    single = {name: values[0] for name, values in said.items()}
    _check_times(subject, extensions, single)
    return TaskPeople(
        assignee=single.get("assignee"),
        users=users,
        groups=groups,
        due=single.get("dueDate"),
        follow_up=single.get("followUpDate"),
        priority=single.get("priority"),
    )


def read_text_value(subject: Subject, text: str, *, is_own: bool) -> TextValue:
    """Read a text that may hold expressions; one of another tool that is none of ours stays as it is written."""
    compiled = subject.compile if is_own else subject.try_compile
    if text.startswith("=") or _WHOLE.fullmatch(text):
        expression = compiled(text)
        return TextValue((expression if expression is not None else text,))
    parts: list[str | Expression] = []
    for piece in filter(None, _EXPRESSION.split(text)):
        found = compiled(piece) if piece.startswith(("${", "#{")) else None
        parts.append(found if found is not None else piece)
    return TextValue(tuple(parts) or ("",))


_EXPRESSION = re.compile(r"([$#]\{[^{}]*+\})")
_WHOLE = re.compile(r"[$#]\{(?:(?![$#]\{).)*+(?<=\})", re.DOTALL)
_COMMA = re.compile(r",(?![^{]*+\})")
"""One between names, not within an expression."""
_LISTS = frozenset({"candidateUsers", "candidateGroups"})


def _read_values(subject: Subject, name: str, text: str, *, is_own: bool) -> tuple[TextValue, ...]:
    is_list = name in _LISTS and not text.startswith("=")
    texts = [part.strip() for part in _COMMA.split(text)] if is_list else [text]
    for each in texts:
        if is_own and not each.startswith(("=", "${", "#{")) and len(each) > MAX_NAME:
            subject.refuse(f"The name {quote(each)} has more than {MAX_NAME} characters.")
    return tuple(read_text_value(subject, each, is_own=is_own) for each in texts if each)


def _list_foreign(element: XmlElement) -> Iterator[tuple[str, str]]:
    """Yield what other tools have written, by the names of ours."""
    for key, value in element.attributes.items():
        space, _, name = key.removeprefix("{").partition("}")
        if space in VENDORS and name in PEOPLE and value.strip():
            yield name, value.strip()
    for child in _list_zeebe(element):
        for name, value in child.attributes.items():
            if name in PEOPLE and value.strip():
                yield name, value.strip()


def _list_zeebe(element: XmlElement) -> Iterable[XmlElement]:
    wanted = ("assignmentDefinition", "taskSchedule", "priorityDefinition")
    return (
        child
        for holder in element.all("extensionElements")
        for child in holder.children
        if child.space == ZEEBE and child.name in wanted
    )


_OWNER = re.compile(r"\s*+(?:(user|group)\s*+\(([^()]*+)\)|([^,()]++))\s*+(?:,|$)", re.IGNORECASE)


def _list_performers(element: XmlElement, kind: str) -> Iterator[tuple[str, str]]:
    """Yield who is named literally: `user(anna), group(sales)`; a bare name is a group."""
    for performer in element.all(kind):
        for assignment in performer.all("resourceAssignmentExpression"):
            for formal in (*assignment.all("formalExpression"), *assignment.all("expression")):
                for match in _OWNER.finditer(read_value(formal)[: MAX_NAME * MAX_CANDIDATES]):
                    name = (match[2] or match[3] or "").strip()
                    if name:
                        yield (match[1] or "group").lower(), name


def _check_times(subject: Subject, extensions: Extensions, said: dict[str, TextValue]) -> None:
    """Refuse a date of our own that cannot be read; another tool's is noted on the task when it opens."""
    for name in ("dueDate", "followUpDate"):
        element, value = extensions.find(name), said.get(name)
        if element is None or value is None or not isinstance(value.parts[0], str):
            continue
        text = value.parts[0]
        try:
            parse_duration(text) if text.startswith("P") else parse_datetime(text)
        except NotIso as error:
            subject.refuse(f"{name} cannot be read, {quote(text)}: {error}", element)
