"""Tokens of FEEL. Names may hold spaces: words in a row are one name, which no other construct of the language is."""

import re
from collections.abc import Sequence
from decimal import Decimal
from enum import StrEnum
from typing import Any, NamedTuple

from processes.workflows.engine.feel.errors import FeelError
from processes.workflows.engine.feel.limits import MAX_DIGITS
from processes.workflows.engine.storable import join_pairs


class TokenKind(StrEnum):
    VALUE = "value"
    NAME = "name"
    SYMBOL = "symbol"
    """An operator, a bracket, or a word that is one."""
    TEMPORAL = "temporal"
    """`@"2030-01-31"`: a date, a time, a date and time or a duration."""
    END = "end"


class Token(NamedTuple):
    kind: TokenKind
    text: str
    position: int
    value: Any = None


CONSTANTS = {"true": True, "false": False, "null": None}
KEYWORDS = frozenset(
    {"and", "or", "if", "then", "else", "for", "in", "return", "some", "every", "satisfies", "between", "instance"}
    | {"of", "function"}
)
# Names of the language itself that hold one of its keywords.
_NAMES_WITH_KEYWORDS = (
    "date and time",
    "days and time duration",
    "years and months duration",
    "day of week",
    "day of year",
    "week of year",
    "month of year",
    "index of",
    "get or else",
    "last day of month",
)


def tokenize(text: str, names: Sequence[str] = ()) -> list[Token]:
    """Split a text into tokens, the last of kind END; `names` are known names with other signs than letters."""
    if odd := _UNPRINTABLE.search(text):
        raise FeelError(f"An expression cannot hold the character {odd.group()!a}.", odd.start())
    longest_first = sorted((*_NAMES_WITH_KEYWORDS, *names), key=len, reverse=True)
    choices = "|".join(r"\s+".join(map(re.escape, name.split())) for name in longest_first)
    known = re.compile(rf"(?:{choices})(?!\w)")
    tokens: list[Token] = []
    at, end = 0, len(text.rstrip())
    while at < end:
        space = _SPACE.match(text, at)
        at = space.end() if space else at
        if at >= end:  # a comment was the last
            break
        if named := known.match(text, at, end):
            tokens.append(Token(TokenKind.NAME, " ".join(named[0].split()), at))
            at = named.end()
            continue
        match = _TOKEN.match(text, at, end)
        if match is None:
            raise FeelError(_explain_refusal(text[at]), at)
        _add(tokens, match)
        at = match.end()
    tokens.append(Token(TokenKind.END, "", end))
    return tokens


_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff]")
_SPACE = re.compile(r"(?:\s|//[^\n]*|/\*.*?\*/)+", re.DOTALL)
_TOKEN = re.compile(
    r"""
    (?P<number> (?:[0-9]+ (?:\.[0-9]+)? | \.[0-9]+) (?:[eE][+-]?[0-9]{1,4})? )
    | (?P<word> [^\W\d][\w']*+ )
    | (?P<temporal> @\s*"[^"\\]*+" )
    | (?P<string> "[^"\\]*+(?:\\.[^"\\]*+)*+" | '[^'\\]*+(?:\\.[^'\\]*+)*+' )
    | (?P<symbol> \*\* | \.\. | [=!<>]= | && | \|\| | [-+*/<>=?:.,()\[\]{}!] )
    """,
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(r"\\(?:u(?P<code>[0-9a-fA-F]{4})|U(?P<long>[0-9a-fA-F]{6})|(?P<letter>.))", re.DOTALL)
_LETTERS = {'"': '"', "'": "'", "\\": "\\", "n": "\n", "r": "\r", "t": "\t"}
# Of the languages that other tools write conditions in.
_SAME = {"==": "=", "&&": "and", "||": "or"}


def _add(tokens: list[Token], match: re.Match[str]) -> None:
    kind = match.lastgroup or ""
    found, position = match[kind], match.start(kind)
    if kind == "word":
        _add_word(tokens, found, position)
    elif kind == "number":
        tokens.append(Token(TokenKind.VALUE, found, position, _parse_number(found, position)))
    elif kind == "string":
        tokens.append(Token(TokenKind.VALUE, found, position, _parse_string(found, position)))
    elif kind == "temporal":
        tokens.append(Token(TokenKind.TEMPORAL, found, position, found[found.index('"') + 1 : -1]))
    else:
        tokens.append(Token(TokenKind.SYMBOL, _SAME.get(found, found), position))


def _add_word(tokens: list[Token], word: str, position: int) -> None:
    if word in CONSTANTS:
        tokens.append(Token(TokenKind.VALUE, word, position, CONSTANTS[word]))
    elif word in KEYWORDS:
        tokens.append(Token(TokenKind.SYMBOL, word, position))
    elif tokens and tokens[-1].kind is TokenKind.NAME and tokens[-1].text != "not":
        before = tokens.pop()
        tokens.append(Token(TokenKind.NAME, f"{before.text} {word}", before.position))
    else:
        tokens.append(Token(TokenKind.NAME, word, position))


def _explain_refusal(character: str) -> str:
    if character in "\"'":
        return "The text is not closed."
    return f"“{character}” means nothing here." if character.isprintable() else "This character means nothing here."


def _parse_number(text: str, position: int) -> Decimal:
    number = Decimal(text)
    if len(number.as_tuple().digits) > MAX_DIGITS:
        raise FeelError(f"A number has at most {MAX_DIGITS} digits.", position)
    return number


def _parse_string(quoted: str, position: int) -> str:
    inner = quoted[1:-1]
    if "\\" not in inner:
        return inner
    text = join_pairs(_ESCAPE.sub(_unescape, inner))
    if text is None:
        raise FeelError("A text cannot hold NUL or half of a surrogate pair.", position)
    return text


def _unescape(match: re.Match[str]) -> str:
    if code := match["code"] or match["long"]:
        return chr(min(int(code, 16), 0x10FFFF))
    return _LETTERS.get(match["letter"], match[0])
