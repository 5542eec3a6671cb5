"""What may be wrong with a definition although it can run: found by its structure, without running it.

`lint_definition` is the way in. `reachability` finds what no token can come to, `joins` parallel gateways that wait
for what never comes together, `conditions` and `tables` what overlaps or leaves gaps, `timers` times that are past,
`starts` what a trial leaves out. A finding is never wrong about what it names; what is too large or too free to be
judged is left alone.
"""

from processes.workflows.engine.lint.findings import Finding
from processes.workflows.engine.lint.lint import lint_definition, lint_definitions
from processes.workflows.engine.lint.starts import find_untried_starts

__all__ = ["Finding", "find_untried_starts", "lint_definition", "lint_definitions"]
