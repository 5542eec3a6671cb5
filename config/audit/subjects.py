"""What the subjects of log entries are called, and where their pages are: whoever can name them says so at start."""

from collections.abc import Callable, Collection, Mapping
from typing import TypeAlias

Find: TypeAlias = Callable[[Collection[str]], Mapping[str, tuple[str, str]]]
"""Return of each known subject the name, and the address of its page; the address is empty where it has none."""

_finders: list[Find] = []


def register_subject_names(find: Find) -> None:
    _finders.append(find)


def find_subject_names(subjects: Collection[str]) -> dict[str, tuple[str, str]]:
    """Return name and page of those subjects that somebody knows."""
    return {subject: named for find in _finders for subject, named in find(subjects).items()}
