"""From tokens to a tree, by the binding power of operators.

Recursion is counted before it happens, so nesting is refused long before Python's stack ends.
"""

from processes.workflows.engine.expressions.errors import ExpressionError
from processes.workflows.engine.expressions.functions import FUNCTIONS
from processes.workflows.engine.expressions.lexer import Token, TokenKind, tokenize
from processes.workflows.engine.expressions.limits import MAX_DEPTH, MAX_NODES, MAX_TEXT
from processes.workflows.engine.expressions.syntax_tree import (
    AllOf,
    AnyOf,
    Arithmetic,
    Comparison,
    Conditional,
    ExpressionNode,
    FunctionCall,
    ListOf,
    Literal,
    MapOf,
    Negative,
    Not,
    Path,
    VariableReference,
)


def parse(text: str) -> tuple[ExpressionNode, frozenset[str]]:
    """Parse an expression; return its syntax tree and the names of the variables it reads."""
    if len(text) > MAX_TEXT:
        raise ExpressionError(f"An expression has at most {MAX_TEXT:,} characters.", MAX_TEXT)
    parser = _Parser(tokenize(text, *_find_inner(text)))
    return parser.parse_whole(), frozenset(parser.names)


def _find_inner(text: str) -> tuple[int, int]:
    """Return where the expression begins and ends inside `${…}`, `#{…}` or after `=`."""
    end = len(text.rstrip())
    start = len(text) - len(text.lstrip())
    if text.startswith(("${", "#{"), start) and text.endswith("}", start + 2, end):
        return start + 2, end - 1
    if text.startswith("=", start):
        return start + 1, end
    return min(start, end), end


_OR, _AND, _NOT, _COMPARE, _SUM, _PRODUCT = range(1, 7)
_POWERS = (
    dict.fromkeys(("or", "||"), _OR)
    | dict.fromkeys(("and", "&&"), _AND)
    | dict.fromkeys(("==", "!=", "<", "<=", ">", ">=", "in", "not"), _COMPARE)
    | dict.fromkeys(("+", "-"), _SUM)
    | dict.fromkeys(("*", "/", "%"), _PRODUCT)
)
# What stands in brackets nests twice, as an expression and as the operators in it; so does what is in none.
_MAX_NESTING = 2 * (MAX_DEPTH + 1)
_TOO_DEEP = f"An expression is nested at most {MAX_DEPTH} deep."


class _Parser:
    def __init__(self, tokens: list[Token]) -> None:
        self.names: set[str] = set()
        self._tokens = tokens
        self._at = 0
        self._next = tokens[0]
        self._nesting = 0
        self._nodes = 0

    def parse_whole(self) -> ExpressionNode:
        node = self._expression()
        if self._next.kind is not TokenKind.END:
            raise self._unexpected()
        return node

    # Expressions, from the loosest binding to the closest

    def _expression(self) -> ExpressionNode:
        self._enter()
        position = self._next.position
        node = self._operators(_OR)
        if self._take("?"):
            then = self._expression()
            self._expect(":")
            otherwise = self._expression()
            node = Conditional(self._above(position, node, then, otherwise), node, then, otherwise)
        elif self._take("if"):
            condition = self._operators(_OR)
            self._expect("else")
            otherwise = self._expression()
            node = Conditional(self._above(position, node, condition, otherwise), condition, node, otherwise)
        self._nesting -= 1
        return node

    def _operators(self, least: int) -> ExpressionNode:
        """Parse an operand and every operator after it that binds at least this tightly."""
        self._enter()
        node = self._operand(least)
        while (power := self._power()) >= least:
            if power >= _SUM:
                node = self._arithmetic(node, power)
            elif power == _COMPARE:
                node = self._comparison(node)
            else:
                node = self._logic(node, power)
        self._nesting -= 1
        return node

    def _power(self) -> int:
        return _POWERS.get(self._next.text, 0) if self._next.kind is TokenKind.SYMBOL else 0

    def _arithmetic(self, first: ExpressionNode, power: int) -> ExpressionNode:
        position = self._next.position
        rest = []
        while self._power() == power:
            operator = self._advance().text
            rest.append((operator, self._operators(power + 1)))
        return Arithmetic(self._above(position, first, *(operand for _, operand in rest)), first, tuple(rest))

    def _comparison(self, left: ExpressionNode) -> ExpressionNode:
        token = self._advance()
        is_negated = token.text == "not"
        if is_negated:
            self._expect("in")
        right = self._operators(_SUM)
        if self._power() == _COMPARE:
            raise ExpressionError("Two values are compared at a time: join comparisons by and.", self._next.position)
        operator = "in" if is_negated else token.text
        node: ExpressionNode = Comparison(self._above(token.position, left, right), operator, left, right)
        return Not(self._above(token.position, node), node) if is_negated else node

    def _logic(self, first: ExpressionNode, power: int) -> ExpressionNode:
        position = self._next.position
        operands = [first]
        while self._power() == power:
            self._advance()
            operands.append(self._operators(power + 1))
        height = self._above(position, *operands)
        return AnyOf(height, tuple(operands)) if power == _OR else AllOf(height, tuple(operands))

    def _operand(self, least: int) -> ExpressionNode:
        if not self._is("not"):
            return self._signed()
        positions = []
        while self._is("not"):
            positions.append(self._advance().position)
        if least > _NOT:
            raise ExpressionError("Put not in brackets here: (not …).", positions[0])
        node = self._operators(_COMPARE)
        for position in reversed(positions):
            node = Not(self._above(position, node), node)
        return node

    def _signed(self) -> ExpressionNode:
        signs = []
        while self._is("-") or self._is("!"):
            signs.append(self._advance())
        node = self._path()
        for sign in reversed(signs):
            height = self._above(sign.position, node)
            node = Negative(height, node) if sign.text == "-" else Not(height, node)
        return node

    def _path(self) -> ExpressionNode:
        position = self._next.position
        base = self._primary()
        keys: list[ExpressionNode] = []
        while self._is(".") or self._is("["):
            keys.append(self._key())
        # Functions are called by name alone: what a path leads to is data.
        if self._is("("):
            raise ExpressionError("Only the functions of the language can be called.", self._next.position)
        return Path(self._above(position, base, *keys), base, tuple(keys)) if keys else base

    def _key(self) -> ExpressionNode:
        if self._advance().text == "[":
            key = self._expression()
            self._expect("]")
            return key
        word = self._advance()
        if not word.text.isidentifier():
            raise ExpressionError("A name follows the dot.", word.position)
        return Literal(self._above(word.position), word.text)

    def _primary(self) -> ExpressionNode:
        token = self._next
        if token.kind is TokenKind.VALUE:
            self._advance()
            return Literal(self._above(token.position), token.value)
        if token.kind is TokenKind.NAME:
            self._advance()
            return self._call(token) if self._is("(") else self._name(token)
        if self._take("("):
            node = self._expression()
            self._expect(")")
            return node
        if self._take("["):
            items = self._separated("]")
            return ListOf(self._above(token.position, *items), items)
        if self._take("{"):
            return self._map(token.position)
        raise self._unexpected()

    def _name(self, token: Token) -> ExpressionNode:
        self.names.add(token.text)
        return VariableReference(self._above(token.position), token.text)

    def _call(self, token: Token) -> ExpressionNode:
        function = FUNCTIONS.get(token.text)
        if function is None:
            known = ", ".join(sorted(FUNCTIONS))
            raise ExpressionError(f"There is no function {token.text[:40]}; there are {known}.", token.position)
        self._expect("(")
        arguments = self._separated(")")
        if not function.takes(len(arguments)):
            raise ExpressionError(f"{token.text} is written {function.usage}.", token.position)
        return FunctionCall(self._above(token.position, *arguments), token.text, arguments)

    def _separated(self, closing: str) -> tuple[ExpressionNode, ...]:
        """Parse a list separated by commas, up to and including the closing bracket."""
        nodes: list[ExpressionNode] = []
        while not self._take(closing):
            if nodes:
                self._expect(",")
            nodes.append(self._expression())
        return tuple(nodes)

    def _map(self, position: int) -> ExpressionNode:
        entries: list[tuple[str, ExpressionNode]] = []
        while not self._take("}"):
            if entries:
                self._expect(",")
            key = self._advance()
            if not isinstance(key.value, str):
                raise ExpressionError("A key of a map is a text.", key.position)
            self._expect(":")
            entries.append((key.value, self._expression()))
        return MapOf(self._above(position, *(value for _, value in entries)), tuple(entries))

    # Limits

    def _enter(self) -> None:
        self._nesting += 1
        if self._nesting > _MAX_NESTING:
            raise ExpressionError(_TOO_DEEP, self._next.position)

    def _above(self, position: int, *below: ExpressionNode) -> int:
        """Count one more node and return its height."""
        self._nodes += 1
        if self._nodes > MAX_NODES:
            raise ExpressionError(f"An expression has at most {MAX_NODES} parts.", position)
        height = 1 + max((node.height for node in below), default=0)
        if height > MAX_DEPTH:
            raise ExpressionError(_TOO_DEEP, position)
        return height

    # Tokens

    def _is(self, symbol: str) -> bool:
        return self._next.text == symbol and self._next.kind is TokenKind.SYMBOL

    def _take(self, symbol: str) -> bool:
        if not self._is(symbol):
            return False
        self._advance()
        return True

    def _expect(self, symbol: str) -> None:
        if not self._take(symbol):
            raise self._unexpected(symbol)

    def _advance(self) -> Token:
        token = self._next
        if token.kind is TokenKind.END:
            raise self._unexpected()
        self._at += 1
        self._next = self._tokens[self._at]
        return token

    def _unexpected(self, expected: str = "") -> ExpressionError:
        instead = f"{expected} is expected here" if expected else "A value is expected here"
        found = self._next
        if found.kind is TokenKind.END:
            return ExpressionError(f"{instead}, but the expression ends.", found.position)
        if not expected and self._at and self._ends_a_value(self._tokens[self._at - 1]):
            instead = "An operator is expected here"
        return ExpressionError(f"{instead}, not {found.text[:40]}.", found.position)

    @staticmethod
    def _ends_a_value(token: Token) -> bool:
        return token.kind in (TokenKind.VALUE, TokenKind.NAME) or token.text in (")", "]", "}")
