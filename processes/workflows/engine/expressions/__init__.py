"""The expression language of conditions, assignments and inputs: what people write into process models, and no code.

A value is what JSON can hold. Wrappers of other tools are taken off: `${…}`, `#{…}`, and a `=` at the start.

- Literals: `12`, `1.5e3`, `"text"` or `'text'` with JSON's escapes, `true`, `false`, `null` (also `True`, `False`,
  `None`), lists `[a, b]`, maps `{"key": value}`.
- Variables by their name; `a.b`, `a["b"]` and `a[0]` (`a[-1]` is the last) look into maps and lists alone. A variable,
  key or item that is not there is null, and so is whatever is looked up in null. A failure says which names were
  not set.
- `+ - * / %` count; booleans are no numbers. Division gives a whole number where it comes out even. `+` also joins two
  texts or two lists; for anything else there is `string(…)`.
- `==` and `!=` compare any two values, and values of different types are different (`1 == 1.0`, but `1 != true`).
  `< <= > >=` order two numbers or two texts. `1 < x < 5` is refused: `1 < x and x < 5`.
- `x in y`, `x not in y`: an item of a list, a key of a map, a part of a text.
- `and`, `or`, `not` (`&&`, `||`, `!`) give true or false and stop as soon as it is clear. False are null, false, 0,
  `""`, `[]` and `{}`. For a default there is `coalesce(x, 0)`.
- `a if c else b`, or `c ? a : b`.
- Functions: see `functions.py`. There are no regular expressions, no powers, no formatting and no loops.

An expression without loops ends by itself; the limits in `limits.py` bound what it may take on the way.
"""

from processes.workflows.engine.expressions.errors import ExpressionError, ExpressionFailed
from processes.workflows.engine.expressions.expression import Expression, compile_expression
from processes.workflows.engine.expressions.limits import Meter

__all__ = ["Expression", "ExpressionError", "ExpressionFailed", "Meter", "compile_expression"]
