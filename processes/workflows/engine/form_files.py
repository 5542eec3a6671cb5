"""Forms that are published together with a process: each is put into the file that refers to it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from lxml import etree

from processes.workflows.engine.bpmn.json_forms import cut_scheme, decode_form
from processes.workflows.engine.bpmn.people import VENDORS, ZEEBE
from processes.workflows.engine.bpmn.xml import parse_tree
from processes.workflows.engine.problems import InvalidDefinition, Problem

MAX_FORMS = 50
"""In one call."""
_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
"""What no XML can hold."""


@dataclass(frozen=True, slots=True)
class FormFile:
    name: str
    """Of the file that was sent."""
    content: bytes


def embed_forms(source: bytes, forms: Sequence[FormFile]) -> bytes:
    """Return a BPMN file with the forms in it that its tasks refer to, by their ids or the names of their files.

    InvalidDefinition says which form is none, or is not referred to: whoever sends one expects it to be shown.
    """
    if not forms:
        return source
    if len(forms) > MAX_FORMS:
        raise InvalidDefinition((Problem("", 0, f"There are at most {MAX_FORMS} forms in one call."),))
    root = parse_tree(source)
    problems: list[Problem] = []
    for form in forms:
        problem = _embed(root, form)
        if problem:
            problems.append(Problem("", 0, problem))
    if problems:
        raise InvalidDefinition(tuple(problems))
    whole: bytes = etree.tostring(root.getroottree(), encoding="utf-8", xml_declaration=True)
    return whole


def _embed(root: etree._Element, form: FormFile) -> str:
    """Put a form into each process that refers to it; return what is wrong with it, if anything is."""
    try:
        text = form.content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return f"The form {form.name[:100]} is not written in UTF-8."
    found = decode_form(text)
    if found is None or _NOT_XML.search(text):
        return f"{form.name[:100]} is no form: it has no components."
    names = {str(found.get("id", "")), form.name, form.name.removesuffix(".form")} - {""}
    is_used = False
    for process in root.iterchildren("{*}process"):
        for reference in sorted(_list_references(process) & names):
            is_used = True
            _add(process, reference, text)
    return "" if is_used else f"No task refers to the form {form.name[:100]}, id {str(found.get('id', '–'))[:100]}."


def _list_references(process: etree._Element) -> set[str]:
    found = {
        cut_scheme((each.get("formId") or each.get("formKey") or "").strip())
        for each in process.iter(f"{{{ZEEBE}}}formDefinition")
    }
    for task in process.iter("{*}userTask"):
        for space in VENDORS:
            for name in ("formRef", "formKey"):
                found.add(cut_scheme((task.get(f"{{{space}}}{name}") or "").strip()))
    return found - {""}


def _add(process: etree._Element, reference: str, text: str) -> None:
    space = process.tag.rpartition("}")[0] + "}"
    holder = process.find(f"{space}extensionElements")
    if holder is None:
        holder = etree.Element(f"{space}extensionElements")
        process.insert(0, holder)
    for old in list(holder.iterchildren(f"{{{ZEEBE}}}userTaskForm")):
        if old.get("id") == reference:
            holder.remove(old)
    form = etree.SubElement(holder, f"{{{ZEEBE}}}userTaskForm", id=reference)
    form.text = text
