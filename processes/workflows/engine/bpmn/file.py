"""The file that is being parsed: what its elements refer to, and the problems found so far."""

import re
from collections.abc import Container
from dataclasses import dataclass, field

from processes.workflows.engine.bpmn.xml import XmlElement
from processes.workflows.engine.expressions import Expression, ExpressionError, compile_expression
from processes.workflows.engine.expressions.limits import MAX_TEXT
from processes.workflows.engine.problems import Problems

BPMN = "http://www.omg.org/spec/BPMN/20100524/MODEL"
MAX_NAME = 200
MAX_EXPRESSIONS = 3_000
MAX_EXPRESSION_TEXT = 50_000
"""Of all expressions of a file together: many small ones take as long to compile as a large one."""

_KEY = re.compile(r"\w[\w.-]*")


@dataclass(slots=True)
class ExpressionUsage:
    """How many expressions of the file were compiled so far, and their length."""

    expressions: int = 0
    text: int = 0


@dataclass(frozen=True, slots=True)
class SourceFile:
    """The root elements of a file by id, for references, and what was found out about the file so far."""

    roots: dict[str, XmlElement]
    problems: Problems = field(default_factory=Problems)
    spent: ExpressionUsage = field(default_factory=ExpressionUsage)

    def find(self, kind: str, reference: str) -> XmlElement | None:
        """Return the root element of this kind that a qualified name refers to."""
        found = self.roots.get(reference.rpartition(":")[2])
        return found if found is not None and found.name == kind else None


@dataclass(frozen=True, slots=True)
class Subject:
    """An element under inspection, with the file that collects its problems and resolves its references."""

    element: XmlElement
    file: SourceFile

    def refuse(self, message: str, at: XmlElement | None = None) -> None:
        self.file.problems.add(self.element.id, (at or self.element).line, message)

    def has_own_id(self, taken: Container[str]) -> bool:
        """Return whether the element has an id of its own; add a problem if it has none or shares it."""
        if not self.element.id:
            self.refuse(f"A {self.element.name} has no id.")
        elif len(self.element.id) > MAX_NAME:
            self.refuse(f"The id has more than {MAX_NAME} characters.")
        elif self.element.id in taken:
            self.refuse(f"The id {quote(self.element.id)} is used twice.")
        else:
            return True
        return False

    def compile(self, text: str, at: XmlElement | None = None) -> Expression | None:
        """Compile an expression; None, and a problem, when it is malformed."""
        self.spend(text)
        try:
            return compile_expression(text)
        except ExpressionError as error:
            self.refuse(f"The expression {quote(text)} cannot be read: {error}", at)
            return None

    def try_compile(self, text: str) -> Expression | None:
        """Compile an expression of another tool; None when it is not one of ours."""
        self.spend(text)
        try:
            return compile_expression(text)
        except ExpressionError:
            return None

    def compile_child(self, parent: XmlElement, name: str) -> Expression | None:
        """Compile the text of a child element; None when there is no such child or it is empty."""
        child = parent.find(name)
        return self.compile(child.text, child) if child is not None and child.text else None

    def spend(self, text: str) -> None:
        """Count an expression; past the bounds the file is refused."""
        spent = self.file.spent
        spent.expressions += 1
        spent.text += min(len(text), MAX_TEXT)  # a longer text is refused before it is compiled
        if spent.expressions > MAX_EXPRESSIONS or spent.text > MAX_EXPRESSION_TEXT:
            message = f"The file has over {MAX_EXPRESSIONS} expressions, or {MAX_EXPRESSION_TEXT} characters of them."
            self.file.problems.abort(self.element.id, self.element.line, message)


def read_file(root: XmlElement) -> SourceFile:
    return SourceFile({child.id: child for child in root.children if child.space == BPMN and child.id})


def quote(text: str) -> str:
    """Quote a text of the file, cut to a length that fits into a message."""
    line = " ".join(text.split())
    return f"“{line[:77]}…”" if len(line) > 80 else f"“{line}”"


def is_key(text: str) -> bool:
    """Return whether a text can be the key of a definition, which also stands in URLs."""
    return len(text) <= MAX_NAME and _KEY.fullmatch(text) is not None


def is_true(text: str, *, default: bool = False) -> bool:
    """Read a boolean of XML Schema."""
    return text in ("true", "1") if text else default
