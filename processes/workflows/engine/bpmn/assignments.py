"""Assignments of script tasks and inputs of handlers: `total = price * amount`."""

import re
from collections import Counter
from collections.abc import Iterator

from processes.workflows.engine.bpmn.extensions import Extensions
from processes.workflows.engine.bpmn.file import MAX_EXPRESSION_TEXT, Subject, quote
from processes.workflows.engine.bpmn.xml import XmlElement
from processes.workflows.engine.definition import Assignment
from processes.workflows.engine.expressions import ExpressionError, compile_expression
from processes.workflows.engine.expressions.lexer import CONSTANTS, KEYWORDS

MAX_VARIABLE = 100
RESERVED = KEYWORDS | CONSTANTS.keys()


def read_assignments(subject: Subject, extensions: Extensions) -> tuple[Assignment, ...]:
    """Read the assignments of a script task: its extensions, else its script when that is written the same way."""
    if extensions.find("assign") is not None:
        return tuple(found for element in extensions.all("assign") for found in _read_assignment(subject, element))
    script = subject.element.find("script")
    if script is None or not script.text:
        subject.refuse("A script task assigns something: postern:assign, or a script of lines such as total = a + b.")
        return ()
    language = subject.element.get("scriptFormat")
    if language.lower() not in ("", "postern"):
        subject.refuse(f"Scripts in {quote(language)} are not run: use postern:assign.", script)
        return ()
    return tuple(_read_lines(subject, script, script.text))


def read_inputs(subject: Subject, extensions: Extensions) -> tuple[Assignment, ...]:
    """Read the inputs of an activity, or of the receivers of a thrown event."""
    return _read_declared(subject, extensions, "input")


def read_outputs(subject: Subject, extensions: Extensions) -> tuple[Assignment, ...]:
    """Read what is written when an activity is completed."""
    return _read_declared(subject, extensions, "output")


def _read_declared(subject: Subject, extensions: Extensions, role: str) -> tuple[Assignment, ...]:
    declared = [found for element in extensions.all(role) for found in _read_assignment(subject, element)]
    for name, times in Counter(found.name for found in declared).items():
        if times > 1:
            subject.refuse(f"The {role} {quote(name)} is declared twice.")
    return tuple(declared)


_LINE = re.compile(r"\s*([^\W\d]\w*)\s*=(?!=)(.+)", re.DOTALL)


def is_own_script(text: str) -> bool:
    """Return whether a script is written in our assignments, line by line."""
    lines = [line for line in _split_lines(text[:MAX_EXPRESSION_TEXT]) if line.strip()]
    matches = [_LINE.fullmatch(line) for line in lines]
    try:
        return all(match is not None and compile_expression(match[2]) is not None for match in matches)
    except ExpressionError:
        return False


def is_variable(name: str) -> bool:
    """Return whether an expression could read the variable by this name."""
    return len(name) <= MAX_VARIABLE and name.isidentifier() and name not in RESERVED


def _read_assignment(subject: Subject, element: XmlElement) -> Iterator[Assignment]:
    name = element.get("variable") or element.get("name")
    if not name:
        yield from _read_lines(subject, element, element.text or element.get("expression") or element.get("value"))
        return
    yield from _check_assignment(
        subject, element, name, element.get("expression") or element.get("value") or element.text
    )


def _read_lines(subject: Subject, element: XmlElement, text: str) -> Iterator[Assignment]:
    if len(text) > MAX_EXPRESSION_TEXT:
        subject.refuse(f"The assignments have more than {MAX_EXPRESSION_TEXT} characters.", element)
        return
    for line in filter(str.strip, _split_lines(text)):
        match = _LINE.fullmatch(line)
        if match is None:
            subject.refuse(f"An assignment is written like total = a + b, not {quote(line)}.", element)
            continue
        yield from _check_assignment(subject, element, match[1], match[2])


def _check_assignment(subject: Subject, element: XmlElement, name: str, text: str) -> Iterator[Assignment]:
    if not is_variable(name):
        subject.refuse(f"{quote(name)} cannot be the name of a variable.", element)
        return
    expression = subject.compile(text, element)
    if expression is not None:
        yield Assignment(name, expression)


# Possessive, and an unclosed text takes the rest: retried from every quote, it would cost the square of its length.
_PIECE = re.compile(r"""'(?:[^'\\]|\\.?)*+'?|"(?:[^"\\]|\\.?)*+"?|[\[\](){};\n]|[^'"\[\](){};\n]+""", re.DOTALL)


def _split_lines(text: str) -> Iterator[str]:
    """Yield the assignments of a script: cut at semicolons and, outside of brackets, at line ends; never in a text."""
    line, depth = "", 0
    for piece in (match[0] for match in _PIECE.finditer(text)):
        depth += (piece in "[({") - (piece in "])}")
        if piece == ";" or (piece == "\n" and depth <= 0):
            yield line
            line, depth = "", 0
        else:
            line += piece
    yield line
