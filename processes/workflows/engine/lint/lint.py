"""All findings of a definition, in the order of their lines."""

from collections.abc import Sequence
from datetime import datetime
from itertools import chain, islice

from processes.workflows.engine.definition import Definition
from processes.workflows.engine.lint.conditions import find_condition_problems
from processes.workflows.engine.lint.findings import MAX_FINDINGS, Finding
from processes.workflows.engine.lint.joins import find_unsatisfiable_joins
from processes.workflows.engine.lint.names import find_long_names
from processes.workflows.engine.lint.reachability import find_unreachable
from processes.workflows.engine.lint.tables import find_table_problems
from processes.workflows.engine.lint.timers import find_past_timers


def lint_definitions(definitions: Sequence[Definition], *, at: datetime) -> tuple[Finding, ...]:
    """Return what may be wrong with the definitions of a file, each thing once."""
    found = dict.fromkeys(finding for definition in definitions for finding in lint_definition(definition, at=at))
    return tuple(sorted(found, key=lambda finding: finding.line)[:MAX_FINDINGS])


def lint_definition(definition: Definition, *, at: datetime) -> tuple[Finding, ...]:
    """Return what may be wrong with a definition; `at` is the time by which timers are past."""
    found = chain(
        find_unreachable(definition),
        find_unsatisfiable_joins(definition),
        find_condition_problems(definition),
        find_table_problems(definition),
        find_past_timers(definition, at=at),
        find_long_names(definition),
    )
    return tuple(sorted(islice(found, MAX_FINDINGS), key=lambda finding: finding.line))
