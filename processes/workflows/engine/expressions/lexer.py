"""Tokens of an expression."""

import math
import re
from enum import StrEnum
from typing import Any, NamedTuple

from processes.workflows.engine.expressions.errors import ExpressionError
from processes.workflows.engine.expressions.limits import MAX_INTEGER
from processes.workflows.engine.storable import join_pairs


class TokenKind(StrEnum):
    VALUE = "value"
    NAME = "name"
    SYMBOL = "symbol"
    """An operator, a bracket, or a word that is one."""
    END = "end"


class Token(NamedTuple):
    kind: TokenKind
    text: str
    position: int
    value: Any = None


CONSTANTS = {"true": True, "false": False, "null": None, "True": True, "False": False, "None": None}
KEYWORDS = frozenset({"and", "or", "not", "in", "if", "else"})


def tokenize(text: str, start: int, end: int) -> list[Token]:
    """Split `text[start:end]` into tokens, the last of kind END; positions are those in the whole text."""
    if odd := _UNPRINTABLE.search(text):
        raise ExpressionError(f"An expression cannot hold the character {odd.group()!a}.", odd.start())
    # The pattern takes space before a token, never after the last one.
    end = start + len(text[start:end].rstrip())
    tokens = [_make_token(match) for match in _TOKEN.finditer(text, start, end)]
    tokens.append(Token(TokenKind.END, "", end))
    return tokens


# What XML cannot hold either, and a database may refuse to store.
_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff]")
# Some alternative always fits, so the next token is never searched for.
_TOKEN = re.compile(
    r"""\s*+(?:
    (?P<number> (?:0|[1-9][0-9]*) (?P<fraction> (?:\.[0-9]+)? (?:[eE][+-]?[0-9]+)? ) )
    | (?P<word> [^\s\x00-\x2f:-@\[-^`{-\x7f]+ )
    | (?P<string> "[^"\\]*+(?:\\.[^"\\]*+)*+" | '[^'\\]*+(?:\\.[^'\\]*+)*+' )
    | (?P<symbol> && | \|\| | [=!<>]= | [-+*/%<>!?:.,()\[\]{}] )
    | (?P<other> \S )
    )""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(r"\\(?:u(?P<code>[0-9a-fA-F]{4})|(?P<letter>.))", re.DOTALL)
_LETTERS = {'"': '"', "'": "'", "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


def _make_token(match: re.Match[str]) -> Token:
    kind = match.lastgroup or ""
    found, position = match[kind], match.start(kind)
    if kind == "symbol":
        return Token(TokenKind.SYMBOL, found, position)
    if kind == "word":
        return _make_word(found, position)
    if kind == "string":
        return Token(TokenKind.VALUE, found, position, _parse_string(found, position))
    if kind == "number":
        return Token(TokenKind.VALUE, found, position, _parse_number(found, match["fraction"], position))
    raise ExpressionError(_explain_refusal(found), position)


def _explain_refusal(character: str) -> str:
    if character in "\"'":
        return "The text is not closed."
    if character == "=":
        return "Two values are compared by ==."
    if character in "$#":
        return "${…} stands around a whole expression."
    return f"{_quote(character)} means nothing here."


def _make_word(word: str, position: int) -> Token:
    if word in CONSTANTS:
        return Token(TokenKind.VALUE, word, position, CONSTANTS[word])
    if word in KEYWORDS:
        return Token(TokenKind.SYMBOL, word, position)
    if word.isidentifier():
        return Token(TokenKind.NAME, word, position)
    raise ExpressionError(f"{_quote(word)} is not a name: names are letters, digits and _.", position)


def _parse_number(text: str, fraction: str, position: int) -> int | float:
    value: int | float = float(text) if fraction else int(text)
    if math.isinf(value) if fraction else value > MAX_INTEGER:
        raise ExpressionError("The number is too large.", position)
    return value


def _parse_string(quoted: str, position: int) -> str:
    inner = quoted[1:-1]
    if "\\" not in inner:
        return inner
    text = join_pairs(_ESCAPE.sub(lambda match: _unescape(match, position + 1), inner))
    if text is None:
        raise ExpressionError("A text cannot hold NUL or half of a surrogate pair.", position)
    return text


def _unescape(match: re.Match[str], offset: int) -> str:
    if code := match.group("code"):
        return chr(int(code, 16))
    letter = match.group("letter")
    if letter not in _LETTERS:
        raise ExpressionError(f"{_quote(match.group())} is not an escape: write \\\\ for \\.", offset + match.start())
    return _LETTERS[letter]


def _quote(text: str) -> str:
    return f"“{text[:20]}”" if text.isprintable() else ascii(text[:20])
