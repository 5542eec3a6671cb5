"""Expressions of any dialect, translated into ours or found to be code."""

import re
from dataclasses import dataclass

from processes.workflows.engine.dialects.languages.feel import translate_feel
from processes.workflows.engine.dialects.languages.juel import translate_juel
from processes.workflows.engine.dialects.languages.phrases import Malformed, NotTranslatable, write_text
from processes.workflows.engine.expressions import ExpressionError, compile_expression
from processes.workflows.engine.expressions.limits import MAX_TEXT
from processes.workflows.engine.feel import FeelError, parse_expression


@dataclass(frozen=True, slots=True)
class Outcome:
    """An expression in our language, or why there is none."""

    text: str
    why: str = ""

    @property
    def is_code(self) -> bool:
        return bool(self.why)


def is_evaluated(language: str) -> bool:
    """Return whether a file that is written in this language marks none of its expressions, and all are in it."""
    return any(word in language.lower() for word in (*_JAVA, "feel"))


def translate_expression(text: str, *, language: str = "", is_feel: bool = False, is_formal: bool = False) -> Outcome:
    """Translate an expression; `is_feel` says that the file's tool writes FEEL, whose lists begin at 1.

    One that is not marked as formal may be said in words, which somebody else has to judge.
    """
    text = text.strip()
    if len(text) > MAX_TEXT:
        return Outcome(text)  # refused where it is compiled, with the reason
    name = language.lower()
    if name and not any(word in name for word in (*_EXPRESSIONS, *_JAVA)):
        return Outcome("", f"a script in {language[:40]}")
    if "feel" in language.lower() and not text.startswith("="):
        return _translate(text, feel_first=True)
    if text.startswith("=") and not text.startswith("=="):
        return _translate(text[1:], feel_first=is_feel)
    if "${" in text or "#{" in text:
        return _translate_wrapped(text)
    if is_own(text):
        return Outcome(text)
    if text.startswith("return ") or any(word in language.lower() for word in _JAVA):
        return _translate_java(text)
    outcome = _translate_plain(text)
    is_said = not is_formal and not outcome.is_code and _WORDS.fullmatch(text) and not is_own(outcome.text)
    return Outcome("", "it is said in words") if is_said else outcome


def is_own(text: str) -> bool:
    """Return whether a text is an expression of our language."""
    try:
        compile_expression(text)
    except ExpressionError:
        return False
    return True


def translate_value(text: str, *, is_feel: bool = False) -> Outcome:
    """Translate the value of a parameter, which is a text unless it is marked as an expression."""
    if text.startswith("=") and is_feel:
        return translate_expression(text, is_feel=True)
    if "${" in text or "#{" in text:
        return _translate_wrapped(text)
    return Outcome(write_text(text).text)


# FEEL and the languages of expressions by their addresses; anything else names a language of scripts.
_EXPRESSIONS = ("juel", "uel", "feel", "expression", "postern", "xpath", "formalexpression", "omg.org")
_JAVA = ("java.com/java", "mvel", "jboss.org/drools")


def _translate(text: str, *, feel_first: bool) -> Outcome:
    """Translate what stands after `=`: FEEL, or our own language, which may be marked the same way."""
    if not feel_first and is_own(text):
        return Outcome(text.strip())
    if "`" in text:
        return Outcome("", "a name in backquotes has no counterpart")
    try:
        found = translate_feel(text)
    except NotTranslatable as error:
        # In a file of FEEL, what is not FEEL is written wrongly, although it might mean something else here.
        is_wrong = isinstance(error, Malformed) and not _CALL.search(text) and not _is_feel(text)
        return Outcome(f"={text}") if is_wrong else Outcome("", str(error))
    return Outcome(found) if is_own(found) else Outcome("", "it has no counterpart")


def _is_feel(text: str) -> bool:
    """Return whether a text is written in FEEL, of which more can be evaluated in decisions than is translated."""
    try:
        parse_expression(text)
    except FeelError:
        return False
    return True


_NOTHING = re.compile(r"\bis\s+(not\s+)?None\b")
_CALL = re.compile(r"[^\W\d]\w*\s*\(")


def _translate_plain(text: str) -> Outcome:
    """Translate an expression without any mark: the words of Python for null, and calls, which are code."""
    found = _NOTHING.sub(lambda match: "!= null" if match[1] else "== null", text)
    if is_own(found):
        return Outcome(found)
    # What is neither of ours nor code is written wrongly, and refused where it is compiled.
    return Outcome("", "it calls something") if _CALL.search(text) or _PYTHON.search(text) else Outcome(text)


_WORDS = re.compile(r"[^\W\d_][\w'’-]*+(?:[ ,;:.]+[\w'’-]++)+[.?!]?")
"""At least two words, and nothing else: BPMN tells natural language from formal expressions by their type."""
_PYTHON = re.compile(r"\[[^\]\[]*:[^\]\[]*\]|\bfor\s+\w+\s+in\b|\bif\b.+\belse\b|\blambda\b", re.DOTALL)
"""Slices, comprehensions and choices of Python, which Spiff evaluates."""


_RETURN = re.compile(r"\s*return\b(.*?);?\s*", re.DOTALL)


def _translate_java(text: str) -> Outcome:
    """Translate a condition of one `return` in Java or MVEL, as jBPM writes them."""
    match = _RETURN.fullmatch(text)
    outcome = _translate_wrapped("${" + (match[1] if match else text) + "}")
    return outcome if is_own(outcome.text) else Outcome("", "it is Java")


def _translate_wrapped(text: str) -> Outcome:
    """Translate `${…}`, or a text with several of them in it, which are joined."""
    parts = list(_split(text))
    if any(inner is None for _, inner in parts):
        return Outcome(text)  # a bracket is not closed
    try:
        if len(parts) == 1 and parts[0][0] == "":
            found = _translate_inner(parts[0][1] or "")
        else:
            found = " + ".join(piece for before, inner in parts for piece in _write_joined(before, inner or ""))
    except Malformed as error:
        # What calls something is code, whose grammar is another engine's: only a plain expression is written wrongly.
        return Outcome("", str(error)) if _CALL.search(text) else Outcome(text)
    except NotTranslatable as error:
        return Outcome("", str(error))
    return Outcome(found) if is_own(found) else Outcome("", "it has no counterpart")


def _translate_inner(text: str) -> str:
    # Our own words may stand between the same brackets, and mean what they have always meant here.
    return text.strip() if is_own(text) and not _OBJECT.search(text) else translate_juel(text)


_OBJECT = re.compile(r"(?<![\w.])(?:execution|caseExecution|processInstance|planItemInstance|kcontext)\s*\.")
"""An object of an engine, which would be a variable that is never there."""


def _write_joined(before: str, inner: str) -> list[str]:
    pieces = [write_text(before).text] if before else []
    return [*pieces, f"string({_translate_inner(inner)})"] if inner else pieces


_QUOTED = re.compile(r"""'(?:[^'\\]|\\.)*+'|"(?:[^"\\]|\\.)*+\"""", re.DOTALL)


def _split(text: str) -> "list[tuple[str, str | None]]":
    """Cut a text into what stands before each `${…}` and what is in it; None where a bracket is not closed."""
    found: list[tuple[str, str | None]] = []
    at = 0
    for match in re.finditer(r"[$#]\{", text):
        if match.start() < at:
            continue
        end = _find_closing(text, match.end())
        if end < 0:
            return [("", None)]
        found.append((text[at : match.start()], text[match.end() : end]))
        at = end + 1
    if at < len(text):
        found.append((text[at:], ""))
    return found


def _find_closing(text: str, at: int) -> int:
    depth = 1
    while at < len(text):
        quoted = _QUOTED.match(text, at)
        if quoted is not None:
            at = quoted.end()
            continue
        depth += (text[at] == "{") - (text[at] == "}")
        if depth == 0:
            return at
        at += 1
    return -1
