"""A place among the tokens of an expression, and the limits of what is built of them."""

from processes.workflows.engine.feel.errors import FeelError
from processes.workflows.engine.feel.lexer import Token, TokenKind
from processes.workflows.engine.feel.limits import MAX_DEPTH, MAX_HEIGHT, MAX_NODES
from processes.workflows.engine.feel.syntax_tree import Extent, FeelNode

_TOO_DEEP = f"An expression is nested at most {MAX_DEPTH} deep."


class TokenCursor:
    """Reads token by token; parsers derive from it."""

    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = tokens
        self._at = 0
        self._next = tokens[0]
        self._depth = 0
        self._nodes = 0

    # Limits

    def _enter(self) -> None:
        self._depth += 1
        if self._depth > 2 * MAX_DEPTH:
            raise FeelError(_TOO_DEEP, self._next.position)

    def _count(self, *below: FeelNode) -> Extent:
        """Count one more node and return its extent."""
        self._nodes += 1
        if self._nodes > MAX_NODES:
            raise FeelError(f"An expression has at most {MAX_NODES} parts.", self._next.position)
        height = 1 + max((node.extent.height for node in below), default=0)
        if height > MAX_HEIGHT:  # a long chain of operators is as deep as brackets are
            raise FeelError(f"At most {MAX_HEIGHT} operators follow one another.", self._next.position)
        return Extent(1 + sum(node.extent.size for node in below), height)

    # Tokens

    def _is(self, symbol: str) -> bool:
        return self._next.text == symbol and self._next.kind is TokenKind.SYMBOL

    def _is_not(self) -> bool:
        return self._next.text == "not" and self._next.kind is TokenKind.NAME

    def _peek(self, ahead: int) -> str:
        return self._tokens[min(self._at + ahead, len(self._tokens) - 1)].text

    def _take(self, symbol: str) -> bool:
        if not self._is(symbol):
            return False
        self._advance()
        return True

    def _expect(self, symbol: str) -> None:
        if not self._take(symbol):
            raise self._unexpected(symbol)

    def _word(self) -> str:
        if self._next.kind is not TokenKind.NAME:
            raise FeelError("A name is expected here.", self._next.position)
        return self._advance().text

    def _advance(self) -> Token:
        token = self._next
        if token.kind is TokenKind.END:
            raise self._unexpected()
        self._at += 1
        self._next = self._tokens[self._at]
        return token

    def _go_back(self, at: int) -> None:
        self._at = at
        self._next = self._tokens[at]

    def _unexpected(self, expected: str = "") -> FeelError:
        instead = f"{expected} is expected here" if expected else "A value is expected here"
        found = self._next
        if found.kind is TokenKind.END:
            return FeelError(f"{instead}, but the expression ends.", found.position)
        return FeelError(f"{instead}, not {found.text[:40]}.", found.position)
