"""Names of endpoints' owners and of subjects, for pages: the apps above register how to find them."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Named:
    text: str
    page: str = ""
    """The address of its page in the admin."""


@dataclass(frozen=True)
class Names:
    """How one app finds names; it returns None, or leaves out, what is not its own."""

    subject: Callable[[str], Named | None]
    find_subject: Callable[[str], str | None] = lambda text: None
    """Return the subject that a typed text names."""
    endpoints: Callable[[Collection[int]], dict[int, Named]] = lambda endpoint_ids: {}
    """Return the owners of endpoints, by id."""
    find_endpoints: Callable[[str], Sequence[int]] = lambda text: ()
    """Return the first few endpoints whose owner's name has this part."""


_registered: list[Names] = []


def register_names(names: Names) -> None:
    _registered.append(names)


def name_endpoints(endpoint_ids: Collection[int]) -> dict[int, Named]:
    found: dict[int, Named] = {}
    for names in _registered if endpoint_ids else ():
        found |= names.endpoints(endpoint_ids)
    return found


def name_subject(subject: str) -> Named | None:
    return next((named for names in _registered if (named := names.subject(subject)) is not None), None)


def page_of_subject(subject: str) -> str:
    """Return the address of the subject's page; empty if it has none."""
    named = name_subject(subject)
    return "" if named is None else named.page


def find_endpoints(text: str) -> list[int]:
    return [pk for names in _registered for pk in names.find_endpoints(text)]


def find_subjects(text: str) -> list[str]:
    found = [names.find_subject(text) for names in _registered]
    return [text, *(subject for subject in found if subject is not None)]
