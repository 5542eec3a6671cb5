"""FEEL, the expression language of DMN, in its common subset: texts are compiled, nothing of them is ever run as code.

- Numbers are decimal, with 34 digits; texts, booleans, lists, contexts, ranges; dates, times and durations, also as
  `@"2030-01-31"`. `null` is also what an operation gives that has no meaning (`1 + "a"`), by three-valued logic.
- `+ - * / **`, `= != < <= > >=`, `between … and …`, `in`, `and`, `or`, `not(…)`, `instance of`.
- `if … then … else …`, `for … return …`, `some … satisfies …`, `every … satisfies …`, each within `limits.py`.
- Paths (`order.lines.price`), filters (`lines[price > 10]`, `lines[1]`), contexts (`{a: 1, b: a + 1}`).
- Names may have spaces. A name that is not set is null; one with spaces also finds the variable with `_` for them.
- Unary tests, the entries of decision tables: `< 5`, `[1..5]`, `"a", "b"`, `not("a")`, `-`, and expressions about `?`.
- Functions: see `functions/`; `now()` and `today()` are the time of the evaluation.

Absent are functions as values, regular expressions, and zones by their names.
"""

from processes.workflows.engine.feel.errors import FeelError, FeelFailed
from processes.workflows.engine.feel.evaluator import INPUT, Evaluator, Layer, build_evaluator
from processes.workflows.engine.feel.parser import parse_expression, parse_unary_tests
from processes.workflows.engine.feel.run import Run

__all__ = [
    "INPUT",
    "Evaluator",
    "FeelError",
    "FeelFailed",
    "Layer",
    "Run",
    "build_evaluator",
    "parse_expression",
    "parse_unary_tests",
]
