"""Where the subject of a log entry has its page: whoever can name subjects says so at start."""

from collections.abc import Callable
from typing import TypeAlias

Find: TypeAlias = Callable[[str], str]
"""Return the address of the page of a subject; empty where it has none."""

_finders: list[Find] = []


def register_subject_pages(find: Find) -> None:
    _finders.append(find)


def find_subject_page(subject: str) -> str:
    return next((page for find in _finders if subject and (page := find(subject))), "")
