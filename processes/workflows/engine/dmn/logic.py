"""The logic of a decision or of a function: tables, expressions, and what is built of them."""

from processes.workflows.engine.bpmn.file import Subject
from processes.workflows.engine.bpmn.xml import XmlElement
from processes.workflows.engine.dmn.expressions import FeelReader, read_text
from processes.workflows.engine.dmn.model import (
    ChoiceLogic,
    ContextLogic,
    FunctionLogic,
    InvocationLogic,
    IterationLogic,
    ListLogic,
    LiteralLogic,
    Logic,
    RelationLogic,
)
from processes.workflows.engine.dmn.tables import read_table

_ITERATIONS = {"for": "return", "some": "satisfies", "every": "satisfies", "filter": "match"}
"""By the element that holds what is evaluated in each round."""
LOGIC = (
    "decisionTable",
    "literalExpression",
    "context",
    "list",
    "relation",
    "invocation",
    "functionDefinition",
    "conditional",
    *_ITERATIONS,
)
MAX_NESTED = 10
"""Contexts, lists and the like inside one another."""


def find_logic(element: XmlElement | None) -> XmlElement | None:
    """Return the element that holds the logic of another; None where there is none, or nothing in it."""
    if element is None:
        return None
    found = next((child for child in element.children if child.name in LOGIC and child.space == element.space), None)
    if found is not None and found.name == "literalExpression" and not read_text(found):
        return None
    return found


def read_logic(subject: Subject, element: XmlElement | None, reader: FeelReader, depth: int = 0) -> Logic | None:
    """Read a piece of logic; None, and a problem as a rule, where it cannot be evaluated."""
    if element is None:
        return None
    if depth > MAX_NESTED:
        subject.refuse(f"Logic is nested at most {MAX_NESTED} deep.", element)
        return None
    if element.name == "decisionTable":
        return read_table(subject, element, reader)
    if element.name == "literalExpression":
        expression = reader.read_expression(subject, element)
        return LiteralLogic(expression) if expression is not None else None
    if element.name == "context":
        return ContextLogic(_read_named(subject, element, "contextEntry", "variable", reader, depth))
    if element.name == "list":
        parts = (read_logic(subject, child, reader, depth + 1) for child in element.children if child.name in LOGIC)
        return ListLogic(tuple(part for part in parts if part is not None))
    if element.name == "relation":
        return _read_relation(subject, element, reader, depth)
    if element.name == "functionDefinition":
        return _read_function(subject, element, reader, depth)
    if element.name == "conditional":
        parts = (_read_part(subject, element, name, reader, depth) for name in ("if", "then", "else"))
        condition, then, otherwise = parts
        return ChoiceLogic(condition, then, otherwise) if condition and then and otherwise else None
    if element.name in _ITERATIONS:
        return _read_iteration(subject, element, reader, depth)
    called = find_logic(element)
    function = read_text(called) if called is not None and called.name == "literalExpression" else ""
    if function not in reader.functions:
        subject.refuse("An invocation names a business knowledge model of the file.", element)
    return InvocationLogic(function, _read_named(subject, element, "binding", "parameter", reader, depth))


def _read_part(subject: Subject, element: XmlElement, name: str, reader: FeelReader, depth: int) -> Logic | None:
    part = find_logic(element.find(name))
    if part is None:
        subject.refuse(f"{element.name} has no {name}.", element)
    return read_logic(subject, part, reader, depth + 1)


def _read_function(subject: Subject, element: XmlElement, reader: FeelReader, depth: int) -> Logic | None:
    if element.get("kind").upper()[:1] not in ("", "F"):
        subject.refuse("Functions of other languages are not run.", element)
        return None
    body = find_logic(element)
    if body is None:
        subject.refuse("A function has a body.", element)
    logic = read_logic(subject, body, reader, depth + 1)
    parameters = tuple(" ".join(each.get("name").split()) for each in element.all("formalParameter"))
    return FunctionLogic(parameters, logic) if logic is not None else None


def _read_iteration(subject: Subject, element: XmlElement, reader: FeelReader, depth: int) -> Logic | None:
    variable = "item" if element.name == "filter" else " ".join(element.get("iteratorVariable").split())
    source = _read_part(subject, element, "in", reader, depth)
    body = _read_part(subject, element, _ITERATIONS[element.name], reader, depth)
    if not variable:
        subject.refuse("An iteration names its variable.", element)
    return IterationLogic(element.name, variable, source, body) if source and body else None


def _read_named(
    subject: Subject, element: XmlElement, entry: str, name: str, reader: FeelReader, depth: int
) -> tuple[tuple[str, Logic], ...]:
    """Read the entries of a context or the bindings of an invocation: names, each with its logic."""
    found = []
    for child in element.all(entry):
        named = child.find(name)
        logic = read_logic(subject, find_logic(child), reader, depth + 1)
        if logic is not None:
            found.append((" ".join(named.get("name").split()) if named is not None else "", logic))
    return tuple(found)


def _read_relation(subject: Subject, element: XmlElement, reader: FeelReader, depth: int) -> RelationLogic:
    columns = tuple(" ".join(column.get("name").split()) for column in element.all("column"))
    rows = []
    for row in element.all("row"):
        cells = [read_logic(subject, child, reader, depth + 1) for child in row.children if child.name in LOGIC]
        if len(cells) != len(columns):
            subject.refuse(f"A row of this relation has {len(columns)} entries.", row)
        rows.append(tuple(cell for cell in cells if cell is not None))
    return RelationLogic(columns, tuple(rows))
