"""Names of endpoints' owners and of subjects, for pages: the apps above register how to find them."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Named:
    text: str
    page: str = ""
    """The address of its page in the admin."""


@dataclass(frozen=True)
class Names:
    """How one app finds names; it leaves out, or returns None for, what is not its own.

    Subjects may be anything: those of events come from outside too.
    """

    subjects: Callable[[Collection[str]], Mapping[str, Named]]
    """Return the names of subjects, for a whole list by a few queries."""
    find_subject: Callable[[str], str | None] = lambda text: None
    """Return the subject that a typed text names."""
    endpoints: Callable[[Collection[int]], dict[int, Named]] = lambda endpoint_ids: {}
    """Return the owners of endpoints, by id."""
    find_endpoints: Callable[[str], Sequence[int]] = lambda text: ()
    """Return the first few endpoints whose owner's name has this part."""


_registered: list[Names] = []
SEPARATOR = " · "
"""Between what a row tells and the subject it is about, as the models write themselves."""


def register_names(names: Names) -> None:
    _registered.append(names)


def name_endpoints(endpoint_ids: Collection[int]) -> dict[int, Named]:
    found: dict[int, Named] = {}
    for names in _registered if endpoint_ids else ():
        found |= names.endpoints(endpoint_ids)
    return found


def name_subjects(subjects: Collection[str]) -> dict[str, Named]:
    """Return the names of those subjects that somebody knows."""
    found: dict[str, Named] = {}
    for names in _registered:
        found |= names.subjects([subject for subject in dict.fromkeys(subjects) if subject not in found])
    return found


def find_pages(subjects: Collection[str]) -> dict[str, tuple[str, str]]:
    """Return the names with their pages, for whoever knows nothing of this app."""
    return {subject: (named.text, named.page) for subject, named in name_subjects(subjects).items()}


def name_subject(subject: str) -> Named | None:
    return name_subjects([subject]).get(subject)


def say_row(row: Any) -> str:
    """Return an event, a delivery or an incident in words: what it tells, and the name of what it is about."""
    title, _separator, code = str(row).rpartition(SEPARATOR)
    named = name_subject(row.subject) if row.subject and code == row.subject else None
    return str(row) if named is None else f"{title}{SEPARATOR}{named.text}"


def page_of_subject(subject: str) -> str:
    """Return the address of the subject's page; empty if it has none."""
    named = name_subject(subject)
    return "" if named is None else named.page


def find_endpoints(text: str) -> list[int]:
    return [pk for names in _registered for pk in names.find_endpoints(text)]


def find_subjects(text: str) -> list[str]:
    found = [names.find_subject(text) for names in _registered]
    return [text, *(subject for subject in found if subject is not None)]


def parts_of(subjects: Collection[str], prefix: str) -> dict[str, str]:
    """Return what follows the prefix in those subjects that begin with it, where something does."""
    return {
        subject: rest for subject in subjects if subject.startswith(prefix) and (rest := subject.removeprefix(prefix))
    }


def numbers_of(subjects: Collection[str], prefix: str) -> dict[str, int]:
    """Return the numbers that follow the prefix; what cannot be the number of a row is left out."""
    parts = parts_of(subjects, prefix).items()
    return {subject: int(rest) for subject, rest in parts if rest.isascii() and rest.isdigit() and len(rest) < 19}
