"""Expressions by chance: from the grammar, from loose tokens, from damaged ones, and from mere bytes."""

from random import Random
from typing import Any

from processes.workflows.engine.expressions.functions import FUNCTIONS

NAMES: dict[str, Any] = {
    "a": 1,
    "b": -2.5,
    "c": "text",
    "d": None,
    "e": True,
    "data": {"a": [1, {"b": "c"}], "b": {"a": 2}, "k": "v"},
    "items": [1, 2.5, 3],
    "words": ["b", "a", ""],
    "big": 10**18,
    "tiny": 5e-324,
    "vast": 1.7e308,
    "long": "ßİ😀a" * 24_999,
    "same": "a" * 100_000,
    "many": [1] * 10_000,
    "more": [[[1, "a"]] * 10] * 1_000,
    "wide": {f"key {number}": number for number in range(10_000)},
    "when": "2030-01-31T08:00:00Z",
    "span": "P1DT1H",
    "odd": [None, True, "\x00\ud800", {}, [], {"": float("nan")}, 10**400],
}
LEAVES = (
    *NAMES,
    *("missing", "0", "1", "12.5", "1e308", "999999999999999999", "''", "'a'", '"\\u0041"', "true", "null", "[]", "{}"),
    *("'%s'", "'{0.__class__}'", "'PT1H'"),
)
BINARY = ("+", "-", "*", "/", "%", "==", "!=", "<", "<=", ">", ">=", "in", "not in", "and", "or", "&&", "||")
CALLS = tuple(FUNCTIONS)
WORDS = ("if", "else", "not", "lambda", "__class__")
TOKENS = (*LEAVES, *BINARY, *CALLS, *WORDS, *"()[]{}.,:?!=-", "**", "${", "}", " ")


def random_expression(chance: Random) -> str:
    kind = chance.random()
    if kind < 0.7:
        return from_grammar(chance, chance.randrange(1, 6))
    if kind < 0.8:
        return " ".join(chance.choices(TOKENS, k=chance.randrange(30)))
    if kind < 0.9:
        return damaged(from_grammar(chance, 4), chance)
    return chance.randbytes(chance.randrange(40)).decode(chance.choice(("latin-1", "utf-16-le")), "replace")


def from_grammar(chance: Random, depth: int) -> str:
    if depth == 0 or chance.random() < 0.1:
        return chance.choice(LEAVES)
    return chance.choice(SHAPES)(chance, depth - 1)


def damaged(text: str, chance: Random) -> str:
    """Cut a piece out, double one, or put something in its place."""
    start, end = sorted(chance.choices(range(len(text) + 1), k=2))
    return text[:start] + chance.choice(("", text[start:end] * 2, chr(chance.randrange(0x110000)))) + text[end:]


def _binary(chance: Random, depth: int) -> str:
    return f"{from_grammar(chance, depth)} {chance.choice(BINARY)} {from_grammar(chance, depth)}"


def _chain(chance: Random, depth: int) -> str:
    operand = f"({from_grammar(chance, depth)})"
    return f" {chance.choice(BINARY)} ".join([operand] * chance.randrange(2, 6))


def _brackets(chance: Random, depth: int) -> str:
    return f"({from_grammar(chance, depth)})"


def _prefix(chance: Random, depth: int) -> str:
    return f"{chance.choice(('-', '!', 'not '))}({from_grammar(chance, depth)})"


def _key(chance: Random, depth: int) -> str:
    if chance.random() < 0.5:
        return f"{chance.choice(tuple(NAMES))}.{chance.choice(('a', 'k', '__class__', '__globals__'))}"
    return f"({from_grammar(chance, depth)})[{from_grammar(chance, depth)}]"


def _call(chance: Random, depth: int) -> str:
    name = chance.choice(CALLS)
    least, most = FUNCTIONS[name].least, FUNCTIONS[name].most
    count = chance.randint(least, 3 if most is None else most)
    return f"{name}({', '.join(from_grammar(chance, depth) for _ in range(count))})"


def _list(chance: Random, depth: int) -> str:
    return f"[{', '.join(from_grammar(chance, depth) for _ in range(chance.randrange(4)))}]"


def _map(chance: Random, depth: int) -> str:
    return f"{{'a': {from_grammar(chance, depth)}, \"b\": {from_grammar(chance, depth)}}}"


def _choice(chance: Random, depth: int) -> str:
    one, two, three = (f"({from_grammar(chance, depth)})" for _ in range(3))
    return chance.choice((f"{one} if {two} else {three}", f"{one} ? {two} : {three}"))


SHAPES = (_binary, _binary, _chain, _brackets, _prefix, _key, _call, _call, _list, _map, _choice)
