"""Expressions of a file of decisions: compiled once for each text, within the limits of the file."""

import re
from dataclasses import dataclass, field

from processes.workflows.engine.bpmn.file import Subject, quote
from processes.workflows.engine.bpmn.xml import XmlElement
from processes.workflows.engine.dmn.model import FeelExpression, FeelTests
from processes.workflows.engine.feel import FeelError, build_evaluator, parse_expression, parse_unary_tests
from processes.workflows.engine.feel.lexer import KEYWORDS
from processes.workflows.engine.feel.limits import MAX_TEXT

MAX_COMPILED = 5_000
"""Different expressions of a file."""
MAX_COMPILED_TEXT = 200_000
"""Characters of all of them together."""

_LANGUAGES = ("feel", "juel", "unary-tests")


@dataclass(slots=True)
class FeelReader:
    """Compiles the expressions of a file; `names` are its own names that hold signs of operators, or keywords."""

    names: tuple[str, ...] = ()
    functions: tuple[str, ...] = ()
    language: str = ""
    """What the file says of all its expressions."""
    expressions: dict[str, FeelExpression | None] = field(default_factory=dict)
    tests: dict[str, FeelTests | None] = field(default_factory=dict)
    text: int = 0

    def read_expression(self, subject: Subject, holder: XmlElement | None) -> FeelExpression | None:
        """Compile the text of an element; None where it is empty, or cannot be read, which is a problem."""
        text = self._take_text(subject, holder)
        if not text:
            return None
        if text not in self.expressions:
            self._spend(subject, text)
            try:
                node = parse_expression(text, names=self.names, functions=self.functions)
                self.expressions[text] = FeelExpression(text, node, build_evaluator(node))
            except FeelError as error:
                self.expressions[text] = None
                subject.refuse(f"The expression {quote(text)} cannot be read: {error}", holder)
        return self.expressions[text]

    def read_tests(self, subject: Subject, holder: XmlElement | None) -> FeelTests | None:
        """Compile an input entry of a table; None, and a problem, where it cannot be read."""
        text = self._take_text(subject, holder)
        if text not in self.tests:
            self._spend(subject, text)
            try:
                node = parse_unary_tests(text, names=self.names, functions=self.functions)
                self.tests[text] = FeelTests(text, node, build_evaluator(node))
            except FeelError as error:
                self.tests[text] = None
                subject.refuse(f"The entry {quote(text)} cannot be read: {error}", holder)
        return self.tests[text]

    def _take_text(self, subject: Subject, holder: XmlElement | None) -> str:
        if holder is None:
            return ""
        language = (holder.get("expressionLanguage") or self.language).lower()
        text = _translate_collection(read_text(holder))
        if text and language and not is_read(language):
            subject.refuse(f"Expressions are written in FEEL, not in {quote(language)}.", holder)
            return ""
        return text

    def _spend(self, subject: Subject, text: str) -> None:
        self.text += min(len(text), MAX_TEXT)
        if len(self.expressions) + len(self.tests) >= MAX_COMPILED or self.text > MAX_COMPILED_TEXT:
            message = f"The file has over {MAX_COMPILED} different expressions, or {MAX_COMPILED_TEXT} characters."
            subject.file.problems.abort(subject.element.id, subject.element.line, message)


def is_read(language: str) -> bool:
    """Return whether expressions in a language are read as FEEL."""
    return any(known in language.lower() for known in _LANGUAGES)


_COLLECTION = re.compile(
    r"""[$#]\{\s*collection:(\w+)\(\s*('[^']*'|[^,'()]+)\s*,\s*('[^']*'|"[^"]*"|[^,'"()]+)\s*\)\s*\}"""
)
_QUANTIFIERS = {
    "contains": ("every", False),
    "allOf": ("every", False),
    "notContains": ("some", True),
    "noneOf": ("some", True),
    "containsAny": ("some", False),
    "anyOf": ("some", False),
    "notContainsAny": ("some", True),
    "notAllOf": ("every", True),
}


def _translate_collection(text: str) -> str:
    """Write a function of Flowable about collections, `${collection:contains(list, '"a","b"')}`, in FEEL."""
    match = _COLLECTION.fullmatch(text)
    if match is None or match[1] not in _QUANTIFIERS:
        return text
    quantifier, is_negated = _QUANTIFIERS[match[1]]
    # Values are written as a text between single quotes: a list without its brackets.
    holder, values = (f"[{part[1:-1]}]" if part.startswith("'") else part.strip() for part in (match[2], match[3]))
    test = f"{quantifier} value in {values} satisfies list contains({holder}, value)"
    return f"not({test})" if is_negated else test


def read_text(holder: XmlElement) -> str:
    """Return what stands in the `text` of an element, or in the element itself."""
    text = holder.find("text")
    return (text.text if text is not None else holder.text).strip()


def is_plain_name(name: str) -> bool:
    """Return whether the lexer finds a name by itself: words without signs, of which none is a keyword."""
    return all(word.isidentifier() and word not in KEYWORDS for word in name.split())
