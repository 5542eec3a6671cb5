"""Forms as JSON, of Camunda's form editor: embedded in a process, or linked and published together with it.

Read are the components of the common subset; `list_unread` says what of a form is not. A component that is not known
is no reason to refuse a file.
"""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec

from processes.workflows.engine.bpmn.xml import XmlElement

MAX_DEPTH = 10
"""Groups inside one another."""
_GROUPS = frozenset({"group", "columns"})
_SHOWN_ALONE = frozenset({"button", "separator", "spacer"})
"""They ask for nothing and say nothing."""
READ = frozenset(
    {
        "textfield",
        "textarea",
        "number",
        "checkbox",
        "select",
        "radio",
        "checklist",
        "taglist",
        "datetime",
        "text",
    }
)
_SCHEMES = ("camunda-forms:bpmn:", "camunda-forms:deployment:")


class Unread(NamedTuple):
    what: str
    why: str


NOT_KNOWN = "A part of this type is not shown."
TYPED = "Its values are made while it is shown: it is typed here."


def find_form_reference(element: XmlElement) -> str:
    """Return by what a task refers to a form of JSON: its id, or the name of its file; empty: it does not."""
    for holder in element.all("extensionElements"):
        for child in holder.children:
            if child.name == "formDefinition":
                return child.get("formId") or cut_scheme(child.get("formKey"))
    for name, value in element.attributes.items():
        if name.endswith("}formRef") or (name.endswith("}formKey") and value.strip().startswith(_SCHEMES)):
            return cut_scheme(value.strip())
    return ""


def cut_scheme(key: str) -> str:
    return next((key.removeprefix(scheme) for scheme in _SCHEMES if key.startswith(scheme)), key)


def decode_form(text: str) -> Mapping[str, Any] | None:
    """Return a form with its components; None where the text is none."""
    form = _decode(text)
    return form if isinstance(form, dict) and isinstance(form.get("components"), list) else None


@lru_cache(maxsize=16)  # many tasks may refer to one form
def _decode(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return None


def list_components(form: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the components of a form that ask for something or say something, those of groups in their place."""
    return _walk(form["components"], 0)


def _walk(components: Any, depth: int) -> Iterator[Mapping[str, Any]]:
    for each in components if isinstance(components, list) and depth < MAX_DEPTH else ():
        if not isinstance(each, dict):
            continue
        if each.get("type") in _GROUPS:
            yield from _walk(each.get("components"), depth + 1)
        elif isinstance(each.get("key"), str) or each.get("type") == "text":
            yield each


def list_unread(form: Mapping[str, Any]) -> Iterator[Unread]:
    """Yield what of a form is not shown, or not as it was meant."""
    for each in _walk_all(form["components"], 0):
        kind = str(each.get("type", ""))[:50]
        label = " ".join(str(each.get("label") or each.get("key") or "").split())[:40]
        if kind not in READ | _GROUPS | _SHOWN_ALONE:
            yield Unread(f"{kind} {label}".strip(), NOT_KNOWN)
        elif kind in ("select", "radio", "checklist", "taglist") and not isinstance(each.get("values"), list):
            yield Unread(f"{kind} {label}".strip(), TYPED)


def _walk_all(components: Any, depth: int) -> Iterator[Mapping[str, Any]]:
    for each in components if isinstance(components, list) and depth < MAX_DEPTH else ():
        if isinstance(each, dict):
            yield each
            if each.get("type") in _GROUPS:
                yield from _walk_all(each.get("components"), depth + 1)
