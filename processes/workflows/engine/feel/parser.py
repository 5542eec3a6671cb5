"""From tokens to a tree. Recursion is counted before it happens, so nesting is refused before Python's stack ends."""

from collections.abc import Sequence

from processes.workflows.engine.feel.cursor import TokenCursor
from processes.workflows.engine.feel.errors import FeelError
from processes.workflows.engine.feel.functions import FUNCTIONS
from processes.workflows.engine.feel.lexer import Token, TokenKind, tokenize
from processes.workflows.engine.feel.limits import MAX_TEXT
from processes.workflows.engine.feel.syntax_tree import (
    Arithmetic,
    Between,
    Call,
    Comparison,
    Conditional,
    Conjunction,
    ContextOf,
    Disjunction,
    Extent,
    FeelNode,
    Filter,
    FunctionOf,
    Input,
    InstanceOf,
    InTests,
    Invocation,
    Iteration,
    ListOf,
    Literal,
    Member,
    Name,
    Negative,
    RangeOf,
    UnaryTests,
)
from processes.workflows.engine.feel.temporal import parse_temporal


def parse_expression(text: str, *, names: Sequence[str] = (), functions: Sequence[str] = ()) -> FeelNode:
    """Parse an expression; `names` may hold signs that are operators else, `functions` are those of the file."""
    parser = _Parser(_tokenize(text, names), functions)
    return parser.finish(parser.expression())


def parse_unary_tests(text: str, *, names: Sequence[str] = (), functions: Sequence[str] = ()) -> UnaryTests:
    """Parse an input entry of a decision table; an empty one is `-`."""
    if text.strip() in ("", "-"):
        return UnaryTests(Extent(1, 1), ())
    parser = _Parser(_tokenize(text, names), functions)
    tests = parser.unary_tests()
    parser.finish(tests)
    return tests


def _tokenize(text: str, names: Sequence[str]) -> list[Token]:
    if len(text) > MAX_TEXT:
        raise FeelError(f"An expression has at most {MAX_TEXT:,} characters.", MAX_TEXT)
    return tokenize(_unwrap(text), names)


def _unwrap(text: str) -> str:
    """Take off `${…}`, `#{…}` and a `=` at the start, which other tools write around an expression."""
    inner = text.strip()
    if inner.startswith(("${", "#{")) and inner.endswith("}"):
        return inner[2:-1]
    return inner[1:] if inner.startswith("=") and not inner.startswith("==") else inner


_COMPARISONS = frozenset({"=", "!=", "<", "<=", ">", ">="})
_ORDERINGS = frozenset({"<", "<=", ">", ">="})
_AFTER_RANGE = frozenset({"", ",", ")", "]", "}", "and", "or", "then", "else", "return", "satisfies"})


class _Parser(TokenCursor):
    def __init__(self, tokens: list[Token], functions: Sequence[str]) -> None:
        super().__init__(tokens)
        self._functions = functions
        self._open_ranges = 0
        self._bound: set[str] = set()
        """Names that the expression itself gives a value, which may be a function."""

    def finish(self, node: FeelNode) -> FeelNode:
        if self._next.kind is not TokenKind.END:
            raise self._unexpected()
        return node

    # Unary tests

    def unary_tests(self) -> UnaryTests:
        if self._is_not() and self._peek(1) == "(":
            start = self._at
            self._advance()
            self._expect("(")
            tests = self._tests(")")
            if self._next.kind is TokenKind.END:
                return UnaryTests(self._count(*tests), tests, is_negated=True)
            self._go_back(start)  # `not(a) and b` is an expression
        tests = self._tests("")
        return UnaryTests(self._count(*tests), tests)

    def _tests(self, closing: str) -> tuple[FeelNode, ...]:
        tests = [self._test()]
        while self._take(","):
            tests.append(self._test())
        if closing:
            self._expect(closing)
        return tuple(tests)

    def _test(self) -> FeelNode:
        symbol = self._next.text if self._next.kind is TokenKind.SYMBOL else ""
        if symbol in _ORDERINGS:
            self._advance()
            end = self._sum()
            is_low, is_closed = symbol.startswith(">"), symbol.endswith("=")
            low, high = (end, None) if is_low else (None, end)
            return RangeOf(self._count(end), low, high, is_closed and is_low, is_closed and not is_low)
        if symbol in ("=", "!="):
            self._advance()
            right = self._sum()
            left = Input(self._count())
            return Comparison(self._count(left, right), symbol, left, right)
        return self.expression()

    # Expressions, from the loosest binding to the closest

    def expression(self) -> FeelNode:
        self._enter()
        if self._take("if"):
            node = self._conditional()
        elif self._is("for") or self._is("some") or self._is("every"):
            node = self._iteration(self._advance().text)
        elif self._take("function"):
            node = self._function()
        else:
            node = self._disjunction()
        self._depth -= 1
        return node

    def _function(self) -> FeelNode:
        """Parse a function as a value; the types of its parameters are not looked at."""
        self._expect("(")
        parameters: list[str] = []
        while not self._take(")"):
            if parameters:
                self._expect(",")
            parameters.append(self._word())
            if self._take(":"):
                self._type()
        if self._next.text == "external":
            raise FeelError("Functions of other languages are not run.", self._next.position)
        outer, self._bound = self._bound, self._bound | set(parameters)
        body = self.expression()
        self._bound = outer
        return FunctionOf(self._count(body), tuple(parameters), body)

    def _type(self) -> str:
        """Parse the name of a type; what stands in its angle brackets is not looked at."""
        name = "function" if self._take("function") else self._word()
        if self._take("<"):
            depth = 1
            while depth:
                symbol = self._advance().text
                depth += (symbol == "<") - (symbol == ">")
        if self._is("-") and self._peek(1) == ">":  # function<number> -> number
            self._advance()
            self._advance()
            self._type()
        return name

    def _conditional(self) -> FeelNode:
        condition = self.expression()
        self._expect("then")
        then = self.expression()
        self._expect("else")
        otherwise = self.expression()
        return Conditional(self._count(condition, then, otherwise), condition, then, otherwise)

    def _iteration(self, kind: str) -> FeelNode:
        sources: list[tuple[str, FeelNode]] = []
        while not sources or self._take(","):
            name = self._word()
            self._expect("in")
            source = self.expression()
            if self._take(".."):
                high = self.expression()
                source = RangeOf(self._count(source, high), source, high, True, True)
            sources.append((name, source))
        self._expect("return" if kind == "for" else "satisfies")
        outer, self._bound = self._bound, self._bound | {name for name, _ in sources}
        body = self.expression()
        self._bound = outer
        return Iteration(self._count(*(each for _, each in sources), body), kind, tuple(sources), body)

    def _disjunction(self) -> FeelNode:
        operands = [self._conjunction()]
        while self._take("or"):
            operands.append(self._conjunction())
        return operands[0] if len(operands) == 1 else Disjunction(self._count(*operands), tuple(operands))

    def _conjunction(self) -> FeelNode:
        operands = [self._comparison()]
        while self._take("and"):
            operands.append(self._comparison())
        return operands[0] if len(operands) == 1 else Conjunction(self._count(*operands), tuple(operands))

    def _comparison(self) -> FeelNode:
        left = self._sum()
        if self._next.kind is TokenKind.SYMBOL and self._next.text in _COMPARISONS:
            operator = self._advance().text
            right = self._sum()
            return Comparison(self._count(left, right), operator, left, right)
        if self._take("between"):
            low = self._sum()
            self._expect("and")
            high = self._sum()
            return Between(self._count(left, low, high), left, low, high)
        if self._take("in"):
            tests = self._in_tests()
            return InTests(self._count(left, *tests), left, tests)
        if self._take("instance"):
            self._expect("of")
            return InstanceOf(self._count(left), left, self._type())
        return left

    def _in_tests(self) -> tuple[FeelNode, ...]:
        if not self._is("("):
            is_ordering = self._next.kind is TokenKind.SYMBOL and self._next.text in _ORDERINGS
            return (self._test() if is_ordering else self._sum(),)
        start = self._at
        self._advance()
        tests = [self._test()]
        if self._is(".."):  # an interval that is open below
            self._go_back(start)
            return (self._sum(),)
        while self._take(","):
            tests.append(self._test())
        self._expect(")")
        return tuple(tests)

    def _sum(self) -> FeelNode:
        node = self._product()
        while self._is("+") or self._is("-"):
            operator = self._advance().text
            right = self._product()
            node = Arithmetic(self._count(node, right), operator, node, right)
        return node

    def _product(self) -> FeelNode:
        node = self._power()
        while self._is("*") or self._is("/"):
            operator = self._advance().text
            right = self._power()
            node = Arithmetic(self._count(node, right), operator, node, right)
        return node

    def _power(self) -> FeelNode:
        node = self._signed()
        while self._take("**"):
            right = self._signed()
            node = Arithmetic(self._count(node, right), "**", node, right)
        return node

    def _signed(self) -> FeelNode:
        signs = 0
        while self._take("-"):
            signs += 1
        node = self._postfix()
        for _ in range(signs):
            node = Negative(self._count(node), node)
        return node

    def _postfix(self) -> FeelNode:
        node = self._primary()
        while True:
            if self._take("."):
                node = Member(self._count(node), node, self._word())
            elif self._is("[") and not self._closes_range():
                self._advance()
                condition = self.expression()
                self._expect("]")
                node = Filter(self._count(node, condition), node, condition)
            else:
                return node

    def _closes_range(self) -> bool:
        """Return whether the bracket closes an interval, as in `]1..2[`, of which the end was just parsed."""
        return self._open_ranges > 0 and self._peek(1) in _AFTER_RANGE

    def _primary(self) -> FeelNode:
        self._enter()
        token = self._next
        if token.kind is TokenKind.VALUE:
            self._advance()
            node: FeelNode = Literal(self._count(), token.value)
        elif token.kind is TokenKind.TEMPORAL:
            node = self._temporal()
        elif token.kind is TokenKind.NAME:
            self._advance()
            node = self._call(token) if self._is("(") else Name(self._count(), token.text)
        elif self._take("?"):
            node = Input(self._count())
        elif self._is("(") or self._is("[") or self._is("]"):
            node = self._bracket(self._advance().text)
        elif self._take("{"):
            node = self._context()
        elif self._take("!"):
            operand = self._postfix()
            node = Call(self._count(operand), "not", (operand,))
        else:
            raise self._unexpected()
        self._depth -= 1
        return node

    def _temporal(self) -> FeelNode:
        token = self._advance()
        value = parse_temporal(token.value)
        if value is None:
            raise FeelError(f"“{token.value[:40]}” is no date, time or duration.", token.position)
        return Literal(self._count(), value)

    def _bracket(self, opening: str) -> FeelNode:
        """Parse what begins with a bracket: an expression, a list or an interval."""
        if opening == "[" and self._take("]"):
            return ListOf(self._count(), ())
        first = self.expression()
        if self._take(".."):
            return self._range(opening, first)
        if opening == "(":
            self._expect(")")
            return self._invoke(first) if isinstance(first, FunctionOf) and self._is("(") else first
        if opening == "]":
            self._expect("..")
        items = [first]
        while self._take(","):
            items.append(self.expression())
        self._expect("]")
        return ListOf(self._count(*items), tuple(items))

    def _range(self, opening: str, low: FeelNode) -> FeelNode:
        self._open_ranges += 1
        high = self.expression()
        self._open_ranges -= 1
        closing = self._advance()
        if closing.text not in ("]", ")", "["):
            raise FeelError("An interval ends with ] or ).", closing.position)
        return RangeOf(self._count(low, high), low, high, opening == "[", closing.text == "]")

    def _context(self) -> FeelNode:
        entries: list[tuple[str, FeelNode]] = []
        outer = self._bound
        while not self._take("}"):
            if entries:
                self._expect(",")
            key = self._advance()
            name = key.value if key.kind is TokenKind.VALUE and isinstance(key.value, str) else key.text
            if key.kind is TokenKind.SYMBOL and not key.text.isalpha():
                raise FeelError("A key of a context is a name or a text.", key.position)
            self._expect(":")
            entries.append((name, self.expression()))
            self._bound = self._bound | {name}
        self._bound = outer
        return ContextOf(self._count(*(value for _, value in entries)), tuple(entries))

    def _call(self, token: Token) -> FeelNode:
        if token.text in self._bound:
            return self._invoke(Name(self._count(), token.text))
        function = FUNCTIONS.get(token.text)
        if function is None and token.text not in self._functions:
            raise FeelError(f"There is no function “{token.text[:40]}”.", token.position)
        arguments, names = self._arguments(token)
        if function is not None and not function.takes(len(arguments), names):
            raise FeelError(f"{token.text} is written {function.usage}.", token.position)
        return Call(self._count(*arguments), token.text, arguments, names)

    def _invoke(self, function: FeelNode) -> FeelNode:
        arguments, names = self._arguments(self._next)
        return Invocation(self._count(function, *arguments), function, arguments, names)

    def _arguments(self, token: Token) -> tuple[tuple[FeelNode, ...], tuple[str, ...]]:
        self._expect("(")
        arguments: list[FeelNode] = []
        names: list[str] = []
        while not self._take(")"):
            if arguments:
                self._expect(",")
            if self._next.kind is TokenKind.NAME and self._peek(1) == ":":
                names.append(self._word())
                self._expect(":")
            arguments.append(self.expression())
        if names and len(names) != len(arguments):
            raise FeelError("Either all arguments are named or none.", token.position)
        return tuple(arguments), tuple(names)
