from dataclasses import dataclass

MAX_FINDINGS = 100
"""Of one definition: enough for an author to work on."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that may be wrong, with the element, its line in the file and its name."""

    element: str
    line: int
    name: str
    message: str
