"""Patterns of forms and of FEEL, matched in linear time: a pattern comes from a file, and must not stop the server.

The common part of regular expressions: literals, classes, `.`, groups, alternatives and quantifiers. There are no
references back, no lookaround and no lazy or possessive quantifiers, of which the time could grow without bound.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

MAX_PATTERN = 500
MAX_STATES = 1_000
"""A counted repetition takes as many as it repeats."""
MAX_MATCHED = 1_000
"""Characters that a pattern is matched against."""

_Test = Callable[[str], bool]


class NotPattern(ValueError):
    """The text is no pattern that can be matched in linear time; the message says why."""


@dataclass(slots=True)
class _State:
    test: _Test | None = None
    """None: passed without a character."""
    after: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Pattern:
    text: str
    states: tuple[tuple[_Test | None, tuple[int, ...]], ...] = field(compare=False, repr=False)
    first: int = field(default=0, compare=False, repr=False)
    last: int = field(default=0, compare=False, repr=False)

    def matches_whole(self, text: str) -> bool:
        """Return whether the whole text matches; one that is longer than `MAX_MATCHED` does not."""
        if len(text) > MAX_MATCHED:
            return False
        at = self._close({self.first})
        for letter in text:
            passed = (self.states[state] for state in at)
            reached = {target for test, after in passed if test is not None and test(letter) for target in after}
            at = self._close(reached)
            if not at:
                return False
        return self.last in at

    def _close(self, states: set[int]) -> set[int]:
        """Return the states with all that are reached from them without a character."""
        found, rest = set(states), list(states)
        while rest:
            test, after = self.states[rest.pop()]
            if test is None:
                rest += [target for target in after if target not in found]
                found.update(after)
        return found


def compile_pattern(text: str) -> Pattern:
    """Compile a pattern; raises NotPattern."""
    if len(text) > MAX_PATTERN:
        raise NotPattern(f"A pattern has at most {MAX_PATTERN} characters.")
    parser = _Parser(text.removeprefix("^"))
    first, last = parser.alternatives()
    if parser.at < len(parser.text) and parser.text[parser.at :] != "$":
        raise NotPattern(f"“{parser.text[parser.at]}” is not expected.")
    states = tuple((state.test, tuple(state.after)) for state in parser.states)
    return Pattern(text, states, first, last)


_CLASSES: dict[str, _Test] = {
    "d": lambda letter: "0" <= letter <= "9",
    "w": lambda letter: letter == "_" or (letter.isascii() and letter.isalnum()),
    "s": str.isspace,
}
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "v": "\v"}


class _Parser:
    """Builds the states of a pattern piece by piece; a piece is its first and its last state."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.depth = 0
        self.states: list[_State] = []

    def add(self, test: _Test | None = None) -> int:
        if len(self.states) >= MAX_STATES:
            raise NotPattern(f"A pattern takes at most {MAX_STATES} states.")
        self.states.append(_State(test))
        return len(self.states) - 1

    def connect(self, source: int, target: int) -> None:
        self.states[source].after.append(target)

    def peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def alternatives(self) -> tuple[int, int]:
        self.depth += 1
        if self.depth > 50:
            raise NotPattern("Groups are nested at most 50 deep.")
        first, last = self.add(), self.add()
        while True:
            begin, end = self.sequence()
            self.connect(first, begin)
            self.connect(end, last)
            if self.peek() != "|":
                self.depth -= 1
                return first, last
            self.at += 1

    def sequence(self) -> tuple[int, int]:
        first = last = self.add()
        while (letter := self.peek()) and letter not in "|)" and self.text[self.at :] != "$":
            begin = self.at
            piece = self.piece()
            begin_state, end_state = self.quantify(piece, begin)
            self.connect(last, begin_state)
            last = end_state
        return first, last

    def quantify(self, piece: tuple[int, int], begin: int) -> tuple[int, int]:
        least, most = self.quantifier()
        if (least, most) == (1, 1):
            return piece
        if self.peek() in ("?", "+") and self.peek():
            raise NotPattern("Quantifiers are neither lazy nor possessive.")
        after = self.at
        first = last = self.add()
        for place in range(max(least, 1) if most is None else most):
            if place:
                self.at = begin  # the same piece once more
                piece = self.piece()
            self.connect(last, piece[0])
            leave = self.add()
            self.connect(piece[1], leave)
            if place >= least:
                self.connect(last, leave)
            last = leave
        if most is None:
            self.connect(last, piece[0])
        self.at = after
        return first, last

    def quantifier(self) -> tuple[int, int | None]:
        letter = self.peek()
        if letter in ("*", "+", "?") and letter:
            self.at += 1
            return {"*": (0, None), "+": (1, None), "?": (0, 1)}[letter]
        end = self.text.find("}", self.at)
        if letter != "{" or end < 0:
            return 1, 1
        low, comma, high = self.text[self.at + 1 : end].partition(",")
        if not low.isascii() or not low.isdigit() or not ((high.isascii() and high.isdigit()) or not high):
            raise NotPattern("A repetition is written like {2} or {2,5}.")
        least, most = int(low[:5]), int(high[:5]) if high else None if comma else int(low[:5])
        if least > MAX_STATES or (most is not None and not max(least, 1) <= most <= MAX_STATES):
            raise NotPattern(f"A piece repeats at most {MAX_STATES} times.")
        self.at = end + 1
        return least, most

    def piece(self) -> tuple[int, int]:
        letter = self.peek()
        self.at += 1
        if letter == "(":
            if self.text.startswith("?:", self.at):
                self.at += 2
            elif self.peek() == "?":
                raise NotPattern("There is neither lookaround nor a named group.")
            found = self.alternatives()
            if self.peek() != ")":
                raise NotPattern("A bracket is not closed.")
            self.at += 1
            return found
        if letter in "*+?{^$":
            raise NotPattern(f"“{letter}” is not expected.")
        if letter == "[":
            test = self.letter_class()
        elif letter == "\\":
            test = self.escape()
        else:
            test = (lambda each: each != "\n") if letter == "." else _equals(letter)
        first, last = self.add(test), self.add()
        self.connect(first, last)
        return first, last

    def escape(self) -> _Test:
        letter = self.peek()
        self.at += 1
        if letter.lower() in _CLASSES:
            test = _CLASSES[letter.lower()]
            return test if letter.islower() else lambda each: not test(each)
        if not letter or (letter.isalnum() and letter not in _ESCAPES):
            raise NotPattern(f"“\\{letter}” is not known.")
        return _equals(_ESCAPES.get(letter, letter))

    def letter_class(self) -> _Test:
        is_negated = self.peek() == "^"
        self.at += is_negated
        tests: list[_Test] = []
        while (letter := self.peek()) != "]" or not tests:
            if not letter:
                raise NotPattern("A class is not closed.")
            self.at += 1
            if letter == "\\":
                tests.append(self.escape())
            elif self.peek() == "-" and self.text[self.at + 1 : self.at + 2] not in ("]", ""):
                high = self.text[self.at + 1]
                self.at += 2
                tests.append(_between(letter, high))
            else:
                tests.append(_equals(letter))
        self.at += 1
        return lambda each: any(test(each) for test in tests) is not is_negated


def _equals(letter: str) -> _Test:
    return lambda each: each == letter


def _between(low: str, high: str) -> _Test:
    return lambda each: low <= each <= high
