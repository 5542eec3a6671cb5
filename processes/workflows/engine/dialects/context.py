"""The file under translation: its elements by id, its report, and what every part of the translation needs."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from processes.workflows.engine.bpmn.file import MAX_EXPRESSION_TEXT, MAX_EXPRESSIONS, ExpressionUsage
from processes.workflows.engine.dialects.drafts import Draft
from processes.workflows.engine.dialects.languages.expressions import (
    Outcome,
    is_evaluated,
    translate_expression,
    translate_value,
)
from processes.workflows.engine.dialects.report import Report
from processes.workflows.engine.dialects.vendors import ZEEBE

SCOPES = frozenset({"process", "subProcess", "adHocSubProcess", "transaction"})
EVENTS = frozenset({"startEvent", "endEvent", "intermediateCatchEvent", "intermediateThrowEvent", "boundaryEvent"})
TASKS = frozenset(
    {
        "task",
        "userTask",
        "manualTask",
        "serviceTask",
        "scriptTask",
        "sendTask",
        "receiveTask",
        "businessRuleTask",
        "callActivity",
    }
)
ACTIVITIES = TASKS | (SCOPES - {"process"})
GATEWAYS = frozenset({"exclusiveGateway", "parallelGateway", "inclusiveGateway", "eventBasedGateway", "complexGateway"})
NODES = EVENTS | ACTIVITIES | GATEWAYS


@dataclass(slots=True)
class Context:
    root: Draft
    report: Report = field(default_factory=Report)
    is_feel: bool = False
    """The file's tool writes FEEL."""
    language: str = ""
    """What the file says of all its expressions, where that is no language of scripts."""
    roots: dict[str, Draft] = field(default_factory=dict)
    ids: set[str] = field(default_factory=set)
    """Every id of the file, so that one that is made up is its own."""
    names: dict[str, str] = field(default_factory=dict)
    """The names of all elements by their ids."""
    made: Counter[str] = field(default_factory=Counter)
    spent: ExpressionUsage = field(default_factory=ExpressionUsage)

    def translate(self, holder: Draft, text: str, what: str, *, of: Draft, language: str = "") -> str | None:
        """Return an expression in our language and note it; None when it is code."""
        if self._is_spent(text):
            return text
        # Marked as one that can be evaluated: any other may be said in words.
        is_formal = holder.get(_TYPE).endswith("tFormalExpression")
        outcome = translate_expression(
            text, language=language or self.language, is_feel=self.is_feel, is_formal=is_formal
        )
        return self._note(holder, text, what, of, outcome)

    def translate_value(self, holder: Draft, text: str, what: str, *, of: Draft) -> str | None:
        """Return the value of a parameter as an expression of ours and note it; None when it is code."""
        if self._is_spent(text):
            return text
        return self._note(holder, text, what, of, translate_value(text, is_feel=self.is_feel))

    def _is_spent(self, text: str) -> bool:
        """Count an expression; past the bounds none is translated any more, and the file is refused for it."""
        self.spent.expressions += 1
        self.spent.text += len(text)
        return self.spent.expressions > MAX_EXPRESSIONS or self.spent.text > MAX_EXPRESSION_TEXT

    def _note(self, holder: Draft, text: str, what: str, of: Draft, outcome: Outcome) -> str | None:
        if outcome.is_code:
            return None
        if outcome.text != text.strip():
            self.report.translate(holder, what, text, outcome.text, of=of)
        return outcome.text

    def new_id(self, base: str) -> str:
        """Return an id that is not in the file, the same each time the file is read."""
        found = base
        while found in self.ids:
            self.made[base] += 1
            found = f"{base}~{self.made[base] + 1}"
        self.ids.add(found)
        return found


_TYPE = "{http://www.w3.org/2001/XMLSchema-instance}type"


def open_file(root: Draft) -> Context:
    context = Context(root)
    language = root.get("expressionLanguage")
    context.language = language if is_evaluated(language) else ""
    for element in root.walk():
        if element.id:
            context.ids.add(element.id)
            context.names.setdefault(element.id, element.get("name"))
        if element.space == ZEEBE or any(name.startswith(f"{{{ZEEBE}}}") for name in element.attributes):
            context.is_feel = True
    context.roots = {child.id: child for child in root.own() if child.id}
    return context


def list_scopes(scope: Draft) -> Iterator[Draft]:
    """Yield a process and every sub-process in it, the outer ones first."""
    yield scope
    for child in scope.own():
        if child.name in SCOPES:
            yield from list_scopes(child)


def list_nodes(scope: Draft) -> Iterator[Draft]:
    """Yield the elements that lie directly in a scope, without its flows."""
    return (child for child in scope.own() if child.name in NODES)


def local_name(reference: str) -> str:
    """Return what a qualified name refers to: its prefix means nothing outside of the file."""
    return reference.strip().rpartition(":")[2]
