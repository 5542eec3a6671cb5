"""The form of a user task: `<postern:form>` with fields, or in short `postern:form="amount:number*, comment"`.

Without one of ours, what another tool has written counts (`vendor_forms`).
"""

import re
from collections import Counter
from collections.abc import Iterator
from itertools import islice

from processes.workflows.engine.bpmn.assignments import is_variable
from processes.workflows.engine.bpmn.extensions import POSTERN, Extensions, read_value
from processes.workflows.engine.bpmn.file import MAX_NAME, Subject, is_true, quote
from processes.workflows.engine.bpmn.vendor_forms import MAX_CHOICES as MAX_CHOICES
from processes.workflows.engine.bpmn.vendor_forms import read_foreign_form
from processes.workflows.engine.bpmn.xml import XmlElement
from processes.workflows.engine.definition import FormField

MAX_FIELDS = 100


def read_form(subject: Subject, extensions: Extensions) -> tuple[FormField, ...]:
    found = (field for form in extensions.all("form") for field in _read_fields(subject, form))
    fields = tuple(islice(found, MAX_FIELDS + 1))
    if not fields:
        # Each name once: a file that other engines take is not refused.
        fields = tuple({field.name: field for field in islice(read_foreign_form(subject), MAX_FIELDS)}.values())
    for name, times in Counter(field.name for field in fields).items():
        if times > 1:
            subject.refuse(f"The form has two fields {quote(name)}.")
    if len(fields) > MAX_FIELDS:
        subject.refuse(f"A form has at most {MAX_FIELDS} fields.")
    return fields


_KINDS = {
    "text": ("", "text", "string"),
    "number": ("number", "integer", "long", "double", "float", "decimal"),
    "boolean": ("boolean", "bool", "checkbox"),
    "date": ("date",),
    "choice": ("choice", "enum", "select"),
}
_KIND_OF = {word: kind for kind, words in _KINDS.items() for word in words}
# Possessive: a long text that almost matches is refused in linear time.
_SHORT = re.compile(r"\s*+([^\s:*(),;]+)\s*+(?::\s*+(\w+)\s*+(?:\(([^()]*)\))?)?\s*+(\*)?\s*+")


def _read_fields(subject: Subject, form: XmlElement) -> Iterator[FormField]:
    for child in form.children:
        if child.space == POSTERN and child.name == "field":
            yield from _read_field(subject, child)
    for part in filter(str.strip, re.split(r"[,;\n]", form.text or form.get("value"))):
        match = _SHORT.fullmatch(part)
        if match is None:
            subject.refuse(f"A field is written like amount:number, not {quote(part)}.", form)
            continue
        name, kind, choices, star = match.groups()
        yield from _check_field(subject, form, name, name, kind or "", star is not None, _split_choices(choices or ""))


def _read_field(subject: Subject, field: XmlElement) -> Iterator[FormField]:
    name = field.get("name") or field.get("id")
    inner = tuple(read_value(child) for child in field.children if child.space == POSTERN and child.name == "choice")
    choices = inner or _split_choices(field.get("choices"))
    kind = field.get("kind") or field.get("type") or ("choice" if choices else "")
    yield from _check_field(
        subject, field, name, field.get("label") or name, kind, is_true(field.get("required")), choices
    )


def _check_field(
    subject: Subject, at: XmlElement, name: str, label: str, kind: str, is_required: bool, choices: tuple[str, ...]
) -> Iterator[FormField]:
    known = _KIND_OF.get(kind.lower())
    if not is_variable(name):
        subject.refuse(f"{quote(name)} cannot be the name of a field.", at)
    elif known is None:
        subject.refuse(f"The field {name} has an unknown kind; there are {', '.join(_KINDS)}.", at)
    elif known == "choice" and not 0 < len(choices) <= MAX_CHOICES:
        subject.refuse(f"The field {name} needs choices, at most {MAX_CHOICES}.", at)
    elif max(map(len, (label, *choices))) > MAX_NAME:
        subject.refuse(f"The field {name} has a label or a choice of more than {MAX_NAME} characters.", at)
    else:
        yield FormField(name, label, known, is_required, choices if known == "choice" else ())


def _split_choices(text: str) -> tuple[str, ...]:
    separator = "|" if "|" in text else ","
    return tuple(choice.strip() for choice in text.split(separator) if choice.strip())
