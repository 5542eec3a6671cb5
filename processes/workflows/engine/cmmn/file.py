"""CMMN files: the elements that others refer to, and the texts of expressions."""

from processes.workflows.engine.bpmn.file import SourceFile, Subject
from processes.workflows.engine.bpmn.xml import XmlElement
from processes.workflows.engine.expressions import Expression

CMMN = "http://www.omg.org/spec/CMMN/20151109/MODEL"


def read_file(root: XmlElement) -> SourceFile:
    return SourceFile({child.id: child for child in root.children if child.space == CMMN and child.id})


def expression_text(element: XmlElement) -> str:
    """Return the text of an expression element, which may stand in a nested `body`."""
    body = element.find("body")
    return element.text or (body.text if body is not None else "")


def compile_nested(subject: Subject, holder: XmlElement, name: str) -> Expression | None:
    """Compile the expression that a child element holds; None when there is no such child or it is empty."""
    child = holder.find(name)
    text = expression_text(child) if child is not None else ""
    return subject.compile(text, child) if text else None
