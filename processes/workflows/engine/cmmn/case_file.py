"""The case file: its items are variables, and their children parts of them."""

from processes.workflows.engine.bpmn.assignments import is_variable
from processes.workflows.engine.bpmn.file import Subject, quote
from processes.workflows.engine.bpmn.xml import XmlElement
from processes.workflows.engine.cmmn.outline import CaseOutline, takes_id

MAX_FILE_ITEMS = 2_000


def read_case_file(case: XmlElement, outline: CaseOutline) -> dict[str, tuple[str, ...]]:
    """Give the way to each item by its id: the variable, then the parts that lead to it."""
    found: dict[str, tuple[str, ...]] = {}
    model = case.find("caseFileModel")
    if model is not None:
        _read_items(outline, found, model, ())
    return found


def _read_items(
    outline: CaseOutline, found: dict[str, tuple[str, ...]], holder: XmlElement, above: tuple[str, ...]
) -> None:
    for item in holder.all("caseFileItem"):
        subject = Subject(item, outline.file)
        if not takes_id(outline, item):
            continue
        if len(found) >= MAX_FILE_ITEMS:
            outline.file.problems.stop(item.id, item.line, f"A case file has at most {MAX_FILE_ITEMS} items.")
        name = item.get("name") or item.id
        if not is_variable(name):
            subject.refuse(f"{quote(name)} cannot be the name of a variable.")
        found[item.id] = (*above, name)
        for children in item.all("children"):
            _read_items(outline, found, children, found[item.id])
