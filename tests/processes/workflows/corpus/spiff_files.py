"""Turns files of the corpus into ones that SpiffWorkflow reads: the same process, without what only Postern knows."""

import re
from collections.abc import Iterator

from lxml import etree

from tests.processes.workflows.corpus.script import FOLDER

BPMN = "{http://www.omg.org/spec/BPMN/20100524/MODEL}"
POSTERN = "{https://postern.dev/bpmn/1.0}"
AT_ONCE = ("event", "webhook", "alert", "message")


def read_for_spiff(key: str, start: str) -> list[etree._Element]:
    """Read a file and those it calls; of several start events the one that is named, else that of no kind."""
    found: dict[str, etree._Element] = {}
    wanted = [key]
    while wanted:
        name = wanted.pop()
        if name not in found:
            found[name] = _read(name)
            wanted += [call.get("calledElement") for call in found[name].iter(f"{BPMN}callActivity")]
    _choose_start(found[key], start)
    return list(found.values())


def _read(key: str) -> etree._Element:
    root = etree.parse(FOLDER / "files" / f"{key}.bpmn").getroot()
    for task in list(root.iter(f"{BPMN}serviceTask", f"{BPMN}sendTask")):
        _change_task(task)
    for task in root.iter(f"{BPMN}scriptTask"):
        etree.SubElement(task, f"{BPMN}script").text = "\n".join(_read_assigns(task))
    for timer in root.iter(f"{BPMN}timeDate", f"{BPMN}timeDuration", f"{BPMN}timeCycle"):
        timer.text = repr(timer.text) if re.match(r"P|R|\d", timer.text) else timer.text
    for condition in root.iter(f"{BPMN}conditionExpression"):
        condition.text = _to_python(condition.text)
    for element in list(root.iter(*(f"{BPMN}{name}" for name in _DATA))):
        element.getparent().remove(element)
    return root


def _choose_start(root: etree._Element, start: str) -> None:
    """Take the other start events out: SpiffWorkflow would begin at all of them."""
    for event in root.findall(f"{BPMN}process/{BPMN}startEvent"):
        is_chosen = event.get("id") == start if start else not _definitions(event)
        if not is_chosen:
            event.getparent().remove(event)


def _definitions(event: etree._Element) -> list[etree._Element]:
    return [child for child in event if str(child.tag).endswith("EventDefinition")]


_DATA = ("dataInputAssociation", "dataOutputAssociation", "dataStoreReference", "extensionElements")


def _change_task(task: etree._Element) -> None:
    """Make work outside a task of a person, and what is told at once a task that passes."""
    handler = task.findtext(f"{BPMN}extensionElements/{POSTERN}handler")
    if task.tag == f"{BPMN}sendTask" and task.get("messageRef") and handler is None:
        return
    task.tag = f"{BPMN}task" if handler in AT_ONCE else f"{BPMN}userTask"


def _read_assigns(task: etree._Element) -> Iterator[str]:
    for assign in task.iter(f"{POSTERN}assign"):
        yield f"{assign.get('variable')} = {assign.get('expression')}"


def _to_python(condition: str) -> str:
    text = re.sub(r"^\$\{(.*)\}$", r"\1", condition).removeprefix("=")
    return text.replace("&&", " and ")
