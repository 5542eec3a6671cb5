"""What process and case tasks run: a definition that the file names, or one that an expression gives."""

from processes.workflows.engine.bpmn.file import Subject, is_key, is_true, quote
from processes.workflows.engine.cmmn.file import text_of
from processes.workflows.engine.definition import NodeKind
from processes.workflows.engine.expressions import Expression


def read_called(subject: Subject, kind: NodeKind) -> tuple[str, Expression | None]:
    """Give the key of what is run, or the expression that gives it."""
    what = _CALLED.get(kind)
    if what is None:
        return "", None
    _check(subject)
    reference = subject.element.get(f"{what}Ref")
    expression = subject.element.find(f"{what}RefExpression")
    if expression is None or not text_of(expression):
        return _read_key(subject, what, reference), None
    if reference:
        subject.refuse(f"It names its {what} twice: by {what}Ref and by {what}RefExpression.")
    return "", subject.compile(text_of(expression), expression)


_CALLED = {NodeKind.PROCESS_TASK: "process", NodeKind.CASE_TASK: "case"}


def _check(subject: Subject) -> None:
    """Refuse what would be lost: there is nobody whom a task that nobody waits for would belong to."""
    if not is_true(subject.element.get("isBlocking"), default=True):
        subject.refuse("Process and case tasks that are not blocking are not supported.")
    mapping = subject.element.find("parameterMapping")
    if mapping is not None:
        subject.refuse("Parameter mappings are not supported: what is run is given all variables.", mapping)


def _read_key(subject: Subject, what: str, reference: str) -> str:
    if not reference:
        subject.refuse(f"It names no {what}: {what}Ref or {what}RefExpression.")
        return ""
    element = subject.file.find("process", reference) if what == "process" else None
    named = (element.get("externalRef") or element.get("name")) if element is not None else ""
    key = (named or reference).rpartition(":")[2]
    if not is_key(key):
        subject.refuse(f"{quote(key)} cannot be the key of a definition.")
    return key
