"""Reading of an expression of another language, and writing of the same in ours, in brackets where ours needs them."""

import json
import re
from dataclasses import dataclass
from typing import NamedTuple

from processes.workflows.engine.expressions.lexer import CONSTANTS, KEYWORDS

MAX_NESTED = 40


class NotTranslatable(Exception):
    """The expression says something that ours cannot say; the text says what."""


class Malformed(NotTranslatable):
    """The expression is written wrongly in its own language, too; it is refused where it is compiled."""


class Token(NamedTuple):
    kind: str
    """`number`, `string`, `word`, `symbol` or `end`."""
    text: str


class Phrase(NamedTuple):
    """A part that is written in our language, and how tightly it binds."""

    text: str
    power: int


TERNARY, OR, AND, NOT, COMPARE, SUM, PRODUCT, SIGN, VALUE = range(9)


def wrap(phrase: Phrase, least: int) -> str:
    """Return a part with brackets around it if it binds less tightly than its place needs."""
    return phrase.text if phrase.power >= least else f"({phrase.text})"


def write_text(value: str) -> Phrase:
    return Phrase(json.dumps(value, ensure_ascii=False), VALUE)


def write_name(word: str) -> Phrase:
    if not word.isidentifier() or word in KEYWORDS or word in CONSTANTS:
        raise NotTranslatable(f"{word} cannot be the name of a variable")
    return Phrase(word, VALUE)


_TOKEN = re.compile(
    r"""\s*+(?:
    (?P<number> (?:\d+ (?:\.\d+)? | \.\d+) (?:[eE][+-]?\d+)? ) (?:[lLfFdD]\b)?  # the letter is Java's type
    | (?P<string> "(?:[^"\\]|\\.)*+" | '(?:[^'\\]|\\.)*+' )
    | (?P<word> (?:[^\W\d]|\$(?!\{)) [\w$]* )
    | (?P<symbol> \*\* | \.\. | && | \|\| | [=!<>]= | [-+*/%<>=!?:.,()\[\]{}] )
    )""",
    re.VERBOSE | re.DOTALL,
)


def tokenize(text: str) -> list[Token]:
    tokens: list[Token] = []
    at, end = 0, len(text.rstrip())
    while at < end:
        match = _TOKEN.match(text, at, end)
        if match is None:
            raise Malformed(f"{text[at : at + 10].strip()!r} is not understood")
        kind = match.lastgroup or ""
        tokens.append(Token(kind, match[kind]))
        at = match.end()
    return [*tokens, Token("end", "")]


_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_LETTERS = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}


def unquote(text: str) -> str:
    """Return the text between its quotes, with its escapes taken off."""

    def read(match: re.Match[str]) -> str:
        found = match[1]
        return chr(int(found[1:], 16)) if len(found) == 5 else _LETTERS.get(found, found)

    return _ESCAPE.sub(read, text[1:-1])


@dataclass(slots=True)
class Reader:
    """Tokens one after the other; the languages read their grammar from it."""

    tokens: list[Token]
    at: int = 0
    nested: int = 0

    @property
    def next(self) -> Token:
        return self.tokens[self.at]

    def advance(self) -> Token:
        token = self.tokens[self.at]
        if token.kind == "end":
            raise Malformed("it ends early")
        self.at += 1
        return token

    def is_next(self, *texts: str) -> bool:
        return self.next.kind in ("symbol", "word") and self.next.text in texts

    def take(self, *texts: str) -> str:
        """Take the next token if it is one of these; empty when it is not."""
        return self.advance().text if self.is_next(*texts) else ""

    def expect(self, text: str) -> None:
        if not self.take(text):
            raise Malformed(f"{text} is expected, not {self.next.text[:20] or 'the end'}")

    def enter(self) -> None:
        self.nested += 1
        if self.nested > MAX_NESTED:
            raise NotTranslatable("it is nested too deeply")

    def leave(self) -> None:
        self.nested -= 1

    def expect_end(self) -> None:
        if self.next.kind != "end":
            raise Malformed(f"{self.next.text[:20]} is not expected")
