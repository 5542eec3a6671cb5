"""A decision table as an editor has it: read from a file, and written back into it. The rest of the file stays."""

import re
from collections.abc import Iterable
from itertools import count

import msgspec
from lxml import etree

from processes.workflows.engine.bpmn.xml import parse_tree
from processes.workflows.engine.dmn.model import Aggregation, DecisionTable, HitPolicy
from processes.workflows.engine.dmn.parser import DMN

NEWEST = DMN[2]
"""A new file is one of DMN 1.3."""


class EditedInput(msgspec.Struct):
    expression: str
    label: str = ""
    type: str = ""
    values: str = ""
    id: str = ""


class EditedOutput(msgspec.Struct):
    name: str
    label: str = ""
    type: str = ""
    values: str = ""
    default: str = ""
    id: str = ""


class EditedRule(msgspec.Struct):
    inputs: list[str]
    outputs: list[str]
    annotation: str = ""
    id: str = ""


class EditedTable(msgspec.Struct):
    hit: HitPolicy
    inputs: list[EditedInput]
    outputs: list[EditedOutput]
    rules: list[EditedRule]
    aggregation: str = ""


def read_edited(table: DecisionTable) -> EditedTable:
    """Return a table as the editor has it: all its entries as texts."""
    return EditedTable(
        hit=table.hit_policy,
        aggregation=table.aggregation.value if table.aggregation is not None else "",
        inputs=[
            EditedInput(
                each.expression.text if each.expression is not None else "",
                "" if each.expression is not None and each.label == each.expression.text else each.label,
                each.type_name,
                each.values,
                each.id,
            )
            for each in table.inputs
        ],
        outputs=[
            EditedOutput(
                each.name,
                "" if each.label == each.name else each.label,
                each.type_name,
                each.values,
                each.default.text if each.default is not None else "",
                each.id,
            )
            for each in table.outputs
        ],
        rules=[
            EditedRule(
                [test.text for test in rule.inputs],
                [entry.text if entry is not None else "" for entry in rule.outputs],
                rule.annotation,
                rule.id,
            )
            for rule in table.rules
        ],
    )


def make_file(key: str, name: str) -> bytes:
    """Return a file of one decision with an empty table."""
    root = etree.Element(f"{{{NEWEST}}}definitions", nsmap={None: NEWEST})
    root.attrib.update({"id": f"definitions_{key}", "name": name, "namespace": "https://postern.dev/decisions"})
    decision = etree.SubElement(root, f"{{{NEWEST}}}decision", {"id": key, "name": name})
    etree.SubElement(decision, f"{{{NEWEST}}}decisionTable")
    return _serialize(root)


def write_table(source: bytes, key: str, table: EditedTable) -> bytes | None:
    """Return the file with the table of a decision replaced; None where it has no such decision with a table."""
    root = parse_tree(source)
    space = etree.QName(root).namespace or ""
    old = next(
        (
            child
            for decision in root
            if isinstance(decision.tag, str) and decision.get("id") == key
            for child in decision
            if child.tag == f"{{{space}}}decisionTable"
        ),
        None,
    )
    if old is None:
        return None
    for child in list(old):
        old.remove(child)
    _Writer(space, root).fill(old, table)
    return _serialize(root)


def _serialize(root: etree._Element) -> bytes:
    etree.indent(root)
    written: bytes = etree.tostring(root, xml_declaration=True, encoding="UTF-8")
    return written


class _Writer:
    def __init__(self, space: str, root: etree._Element) -> None:
        self._space = space
        self._taken = {each.get("id") for each in root.iter() if each.get("id")}
        self._used: set[str] = set()
        self._numbers = count(1)

    def fill(self, element: etree._Element, table: EditedTable) -> None:
        element.set("hitPolicy", table.hit.value)
        element.attrib.pop("aggregation", None)
        if table.aggregation in Aggregation.__members__:
            element.set("aggregation", table.aggregation)
        for each in table.inputs:
            self._write_input(element, each)
        for output in table.outputs:
            self._write_output(element, output)
        for rule in table.rules:
            self._write_rule(element, rule)

    def _write_input(self, parent: etree._Element, each: EditedInput) -> None:
        element = self._add(parent, "input", id=self._id(each.id, "input"), label=each.label)
        self._add(element, "inputExpression", text=each.expression, typeRef=each.type)
        if each.values:
            self._add(element, "inputValues", text=each.values)

    def _write_output(self, parent: etree._Element, each: EditedOutput) -> None:
        identity = self._id(each.id, "output")
        element = self._add(parent, "output", id=identity, name=each.name, label=each.label, typeRef=each.type)
        if each.values:
            self._add(element, "outputValues", text=each.values)
        if each.default:
            self._add(element, "defaultOutputEntry", text=each.default)

    def _write_rule(self, parent: etree._Element, rule: EditedRule) -> None:
        element = self._add(parent, "rule", id=self._id(rule.id, "rule"))
        if rule.annotation:
            etree.SubElement(element, f"{{{self._space}}}description").text = _clean(rule.annotation)
        self._write_entries(element, "inputEntry", rule.inputs)
        self._write_entries(element, "outputEntry", rule.outputs)

    def _write_entries(self, parent: etree._Element, name: str, texts: Iterable[str]) -> None:
        for text in texts:
            self._add(parent, name, text=text)

    def _add(self, parent: etree._Element, tag: str, *, text: str | None = None, **attributes: str) -> etree._Element:
        given = {key: _clean(value) for key, value in attributes.items() if value}
        element = etree.SubElement(parent, f"{{{self._space}}}{tag}", given)
        if text is not None:
            etree.SubElement(element, f"{{{self._space}}}text").text = _clean(text)
        return element

    def _id(self, known: str, kind: str) -> str:
        """Return the id that a part had, or a new one that nothing in the file has."""
        if known and known not in self._used:
            self._used.add(known)
            return known
        fresh = next(name for number in self._numbers if (name := f"{kind}_{number}") not in self._taken | self._used)
        self._used.add(fresh)
        return fresh


def _clean(text: str) -> str:
    """Leave out what XML cannot hold."""
    return _NOT_XML.sub("", text)


_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
