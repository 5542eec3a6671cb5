"""Loop characteristics of activities: multi-instance and standard loops."""

from processes.workflows.engine.bpmn.assignments import is_variable
from processes.workflows.engine.bpmn.extensions import POSTERN
from processes.workflows.engine.bpmn.file import Subject, is_true, quote
from processes.workflows.engine.bpmn.xml import XmlElement
from processes.workflows.engine.definition import Loop

MAX_ROUNDS = 1_000_000


def read_loop(subject: Subject) -> Loop | None:
    several = subject.element.find("multiInstanceLoopCharacteristics")
    standard = subject.element.find("standardLoopCharacteristics")
    if several is not None:
        return _read_multi_instance(subject, several)
    return _read_standard(subject, standard) if standard is not None else None


def _read_multi_instance(subject: Subject, element: XmlElement) -> Loop:
    cardinality = subject.compile_child(element, "loopCardinality")
    collection = _read_variable(subject, element, "loopDataInputRef")
    written = element.get(f"{{{POSTERN}}}collection")
    output = element.get(f"{{{POSTERN}}}outputElement")
    if not written and not any(_child_text(element, name) for name in ("loopCardinality", "loopDataInputRef")):
        subject.refuse("A multi-instance activity needs loopCardinality or loopDataInputRef.", element)
    return Loop(
        is_multi_instance=True,
        is_sequential=is_true(element.get("isSequential")),
        cardinality=cardinality,
        collection=collection,
        collection_by=subject.compile(written, element) if written else None,
        item=_read_item_variable(subject, element, "inputDataItem"),
        output_collection=_read_variable(subject, element, "loopDataOutputRef"),
        output_item=_read_item_variable(subject, element, "outputDataItem"),
        output_by=subject.compile(output, element) if output else None,
        completion=subject.compile_child(element, "completionCondition"),
    )


def _read_standard(subject: Subject, element: XmlElement) -> Loop:
    maximum = element.get("loopMaximum")
    # The length first: int() of thousands of digits raises.
    is_number = maximum.isascii() and maximum.isdigit() and len(maximum) < 10 and 0 < int(maximum) <= MAX_ROUNDS
    if maximum and not is_number:
        subject.refuse(f"loopMaximum is a number from 1 to {MAX_ROUNDS}.", element)
    if not maximum and not _child_text(element, "loopCondition"):
        subject.refuse("A loop needs loopCondition or loopMaximum: it would never end.", element)
    return Loop(
        is_multi_instance=False,
        condition=subject.compile_child(element, "loopCondition"),
        tests_before=is_true(element.get("testBefore")),
        maximum=int(maximum) if maximum and is_number else None,
    )


def _child_text(element: XmlElement, name: str) -> str:
    child = element.find(name)
    return child.text if child is not None else ""


def _read_variable(subject: Subject, element: XmlElement, name: str) -> str:
    """Return the variable named by a data reference; empty without one."""
    text = _child_text(element, name)
    if text and not is_variable(text):
        subject.refuse(f"{name} names a variable, not {quote(text)}.", element)
    return text


def _read_item_variable(subject: Subject, element: XmlElement, name: str) -> str:
    """Return the variable of one round: the data item's name, or its id where the name cannot be a variable."""
    child = element.find(name)
    if child is None:
        return ""
    found = next((word for word in (child.get("name"), child.id, child.text) if is_variable(word)), "")
    if not found:
        subject.refuse(f"{name} has neither a name nor an id that a variable could have.", child)
    return found
