"""Forms as other tools write them: `formData`, `formProperty`, and forms of JSON (see `json_forms`).

A field of a kind that is not known here is a line of text. Nothing of a foreign form is a reason to refuse a file.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from processes.workflows.engine.bpmn.assignments import MAX_VARIABLE, is_variable
from processes.workflows.engine.bpmn.file import MAX_NAME, Subject, is_true
from processes.workflows.engine.bpmn.json_forms import decode_form, find_form_reference, list_components
from processes.workflows.engine.bpmn.people import VENDORS, ZEEBE, read_text_value
from processes.workflows.engine.bpmn.xml import XmlElement
from processes.workflows.engine.definition import FormField
from processes.workflows.engine.dmn.model import FeelExpression
from processes.workflows.engine.feel import FeelError, build_evaluator, parse_expression
from processes.workflows.engine.patterns import NotPattern, Pattern, compile_pattern

MAX_CHOICES = 200
MAX_NOTE = 1_000
_KINDS = {
    "long": "number",
    "integer": "number",
    "int": "number",
    "double": "number",
    "float": "number",
    "decimal": "number",
    "number": "number",
    "boolean": "boolean",
    "checkbox": "boolean",
    "date": "date",
    "datetime": "datetime",
    "time": "time",
    "enum": "choice",
    "select": "choice",
    "radio": "choice",
    "checklist": "choices",
    "taglist": "choices",
}
_WHOLE = frozenset({"long", "integer", "int"})


def read_foreign_form(subject: Subject) -> Iterator[FormField]:
    """Yield the fields that other tools have written for a task, those of one dialect after the other."""
    for holder in subject.element.all("extensionElements"):
        for child in holder.children:
            if child.space in VENDORS and child.name == "formData":
                yield from (_read_field(subject, each) for each in child.children if each.name == "formField")
            elif child.space in VENDORS and child.name == "formProperty":
                yield _read_property(subject, child)
    reference = find_form_reference(subject.element)
    if reference:
        yield from _read_linked(subject, reference)


def _read_field(subject: Subject, element: XmlElement) -> FormField:
    """Read `camunda:formField` with its constraints."""
    rules = {
        rule.get("name"): rule.get("config")
        for holder in element.all("validation")
        for rule in holder.all("constraint")
    }
    default = element.get("defaultValue")
    return _build(
        subject,
        element.id,
        element.get("label"),
        element.get("type"),
        choices=_list_values(element),
        is_required="required" in rules and rules["required"] != "false",
        is_read_only="readonly" in rules,
        minimum=_number(rules.get("min")),
        maximum=_number(rules.get("max")),
        min_length=_length(rules.get("minlength")),
        max_length=_length(rules.get("maxlength")),
        # A day of Camunda, 31/12/2030, is written as the standard of dates has it.
        default=_DAY.sub(r"\3-\2-\1", default) if element.get("type") == "date" else default,
        pattern=_read_pattern(rules),
    )


_DAY = re.compile(r"(\d\d)/(\d\d)/(\d{4})", re.ASCII)


def _read_property(subject: Subject, element: XmlElement) -> FormField:
    """Read `flowable:formProperty` or `activiti:formProperty`."""
    kind = element.get("type")
    if kind == "date" and "h" in element.get("datePattern").lower():
        kind = "datetime"  # a day with hours
    return _build(
        subject,
        element.get("variable") or element.id,
        element.get("name") or element.id,
        kind,
        choices=_list_values(element),
        is_required=is_true(element.get("required")),
        is_read_only=not is_true(element.get("writable"), default=True),
        default=element.get("default") or element.get("expression"),
    )


def _list_values(element: XmlElement) -> list[tuple[str, str]]:
    return [(each.id, each.get("name") or each.id) for each in element.all("value") if each.id]


def _read_linked(subject: Subject, reference: str) -> Iterator[FormField]:
    """Read the form that a task refers to by its id or the name of its file, from where it is in the process."""
    for root in subject.file.roots.values():
        for holder in root.all("extensionElements"):
            for form in holder.children:
                if form.space != ZEEBE or form.name != "userTaskForm" or form.id != reference:
                    continue
                found = decode_form(form.text)
                components = list_components(found) if found is not None else iter(())
                for place, each in enumerate(components, start=1):
                    yield _read_component(subject, each, place)
                return


def _read_component(subject: Subject, component: Mapping[str, Any], place: int) -> FormField:
    kind = str(component.get("type", ""))
    if kind == "text":
        note = " ".join(str(component.get("text") or "").replace("#", " ").split())
        return FormField(f"_note_{place}", note[:MAX_NOTE], "note", hidden_by=_read_condition(subject, component))
    rules = component.get("validate")
    rules = rules if isinstance(rules, dict) else {}
    values = component.get("values")
    choices = [
        (str(each.get("value", "")), str(each.get("label") or each.get("value", "")))
        for each in (values if isinstance(values, list) else [])
        if isinstance(each, dict)
    ]
    default = component.get("defaultValue")
    return _build(
        subject,
        component["key"],
        str(component.get("label") or component.get("dateLabel") or component.get("timeLabel") or ""),
        str(component.get("subtype") or "date") if kind == "datetime" else kind,
        choices=choices,
        is_required=rules.get("required") is True,
        is_read_only=component.get("disabled") is True or component.get("readonly") is True,
        minimum=_number(rules.get("min")),
        maximum=_number(rules.get("max")),
        min_length=_length(rules.get("minLength")),
        max_length=_length(rules.get("maxLength")),
        default="" if default is None else str(default).lower() if isinstance(default, bool) else str(default),
        is_long=kind == "textarea",
        is_whole=component.get("decimalDigits") == 0,
        pattern=_read_pattern(rules),
        hint=" ".join(str(component.get("description") or "").split())[:MAX_NAME],
        hidden_by=_read_condition(subject, component),
    )


_TYPED = {"email": r"[^@\s]+@[^@\s]+", "phone": r"\+?[-\d ()/]{5,30}"}


def _read_pattern(rules: Mapping[str, Any]) -> Pattern | None:
    written = rules.get("pattern") or _TYPED.get(str(rules.get("validationType")), "")
    try:
        return compile_pattern(written) if isinstance(written, str) and written else None
    except NotPattern:
        return None  # the report of the file says that it has no effect


def _read_condition(subject: Subject, component: Mapping[str, Any]) -> FeelExpression | None:
    """Read the condition in FEEL by which a component is hidden; one that cannot be read hides nothing."""
    conditional = component.get("conditional")
    text = conditional.get("hide") if isinstance(conditional, dict) else None
    if not isinstance(text, str) or not text.strip():
        return None
    subject.spend(text)
    try:
        node = parse_expression(text)
    except FeelError:
        return None
    return FeelExpression(text, node, build_evaluator(node))


def _build(
    subject: Subject, key: str, label: str, kind: str, *, choices: list[tuple[str, str]], default: str, **rules: Any
) -> FormField:
    known = _KINDS.get(kind.lower(), "text")
    # A choice whose values are made while it is shown, by a script or a query, is typed here.
    is_choice = known in ("choice", "choices")
    if is_choice and not 0 < len(choices) <= MAX_CHOICES:
        known, choices, is_choice = "text", [], False
    rules["is_whole"] = rules.get("is_whole", False) or kind.lower() in _WHOLE
    return FormField(
        name=_variable(key),
        label=(" ".join(label.split()) or key)[:MAX_NAME],
        kind=known,
        choices=tuple(value[:MAX_NAME] for value, _ in choices) if is_choice else (),
        choice_labels=tuple(text[:MAX_NAME] for _, text in choices) if is_choice else (),
        default=read_text_value(subject, default[:MAX_NAME], is_own=False) if default else None,
        **rules,
    )


def _variable(key: str) -> str:
    """Return the variable of a field; where its key cannot be one, as near to it as a name can be."""
    name = re.sub(r"\W", "_", key)[:MAX_VARIABLE]
    return name if is_variable(name) else f"_{name}"[:MAX_VARIABLE]


def _number(value: Any) -> float | None:
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if abs(number) < 1e15 else None


def _length(value: Any) -> int | None:
    number = _number(value)
    return int(number) if number is not None and 0 <= number <= 1_000_000 else None
