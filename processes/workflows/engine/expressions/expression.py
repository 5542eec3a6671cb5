"""A compiled expression."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from processes.workflows.engine.expressions.errors import ExpressionFailed
from processes.workflows.engine.expressions.evaluator import Evaluator, build_evaluator
from processes.workflows.engine.expressions.limits import Meter
from processes.workflows.engine.expressions.parser import parse


def compile_expression(text: str) -> "Expression":
    """Compile an expression; raises ExpressionError if it is malformed or past the limits."""
    node, names = parse(text)
    return Expression(text, names, build_evaluator(node))


@dataclass(frozen=True, slots=True)
class Expression:
    """A compiled expression; two with the same text are equal."""

    text: str
    """As it was written, with its wrapper."""
    names: frozenset[str] = field(compare=False, repr=False)
    """The variables it reads."""
    _evaluate: Evaluator = field(compare=False, repr=False)

    def evaluate(self, names: Mapping[str, Any], meter: Meter | None = None) -> Any:
        """Evaluate the expression; raises ExpressionFailed. The value may share lists and maps with `names`.

        A caller that passes a meter reads the cost of the evaluation from it afterwards.
        """
        try:
            return self._evaluate(names, meter if meter is not None else Meter())
        except ExpressionFailed as failed:
            raise ExpressionFailed(self._explained(failed.reason, names)) from failed

    def _explained(self, reason: str, names: Mapping[str, Any]) -> str:
        missing = sorted(name for name in self.names if name not in names)
        hint = f" (not set: {_shorten(', '.join(missing))})" if missing else ""
        return f"{_shorten(self.text)}: {reason}{hint}"

    def __reduce__(self) -> tuple[Callable[[str], "Expression"], tuple[str]]:
        # Closures cannot be pickled: a copy is compiled from the text again.
        return compile_expression, (self.text,)


def _shorten(text: str) -> str:
    return text if len(text) <= 100 else f"{text[:99]}…"
