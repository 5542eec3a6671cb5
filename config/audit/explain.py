"""Why something did not happen: the shape of an answer, and who answers which question. Each app registers its own."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeAlias

from django.urls import reverse
from django.utils.translation import gettext

from config.access.scopes import Scope
from config.access.scopes import permission as permission_of
from config.common.errors import NotFound

MOST_EVIDENCE = 50
"""Rows of evidence in one answer; the first say most."""
MOST_NEARBY = 20


@dataclass(frozen=True)
class Evidence:
    """A row that bears the verdict out; shown to those who may see such rows."""

    at: datetime | None
    kind: str
    id: int | str
    """As the calls about that kind name it; empty for what has no row of its own."""
    summary: str
    permission: str
    data: dict[str, Any] = field(default_factory=dict)
    page: str = ""
    """The address of its page in the admin."""


@dataclass(frozen=True)
class Nearby:
    """Something else that happened about then, which can be asked about by these parameters."""

    at: datetime
    kind: str
    summary: str
    ask: dict[str, str]


@dataclass(frozen=True)
class Explanation:
    """One verdict: a word for machines, a sentence for people, and what both rest on."""

    question: str
    """What was asked, in words."""
    verdict: str
    text: str
    since: datetime | None = None
    until: datetime | None = None
    evidence: tuple[Evidence, ...] = ()
    nearby: tuple[Nearby, ...] = ()
    about: tuple[tuple[str, str], ...] = ()
    """What was asked about: names, each with the address of its page."""


@dataclass(frozen=True)
class Asker:
    """Who asks, as far as an answer depends on it."""

    client: int | None = None
    """The client whose key it is: it may ask about itself alone."""
    enterprise: str | None = None
    """The enterprise of the device or database whose key it is."""
    subject: str = ""
    """Which device or database that is."""
    show_time: Callable[[datetime], str] = str
    """How a time is written in a sentence for this reader."""


Ask: TypeAlias = Callable[[Mapping[str, Any], Asker], Explanation]


@dataclass(frozen=True)
class Question:
    """One kind of question: the parameter that it is known by, who may ask it, and who answers."""

    parameter: str
    scope: Scope
    """What a service key needs; staff have the equal permission, and for pages `permission`."""
    explain: Ask
    permission: str = ""
    """That of the pages that lead to it, where they are open to more people than the calls."""
    needs: tuple[str, ...] = ()
    """The other parameters that it cannot do without."""
    takes: tuple[str, ...] = ()
    """Those that it may have beside them."""
    key_kinds: frozenset[str] = frozenset()
    """The kinds of key that may ask about what is theirs."""
    own_rows: frozenset[str] = frozenset()
    """The permissions of those rows that such a key sees, too."""
    verdicts: tuple[str, ...] = ()
    """Every word it may answer."""
    good: frozenset[str] = frozenset()
    """Those that say it has happened after all."""
    errors: tuple[type[NotFound], ...] = ()
    """What it answers where there is nothing of that name, or it is not the asker's."""

    @property
    def parameters(self) -> tuple[str, ...]:
        return (self.parameter, *self.needs, *self.takes)

    def may_open(self, has_perm: Callable[[str], bool]) -> bool:
        """Say whether a member of staff may read the page of the answer."""
        return has_perm(self.permission or f"records.{permission_of(self.scope)}")


_questions: dict[str, Question] = {}


def register_question(question: Question) -> None:
    _questions[question.parameter] = question


def find_question(names: Mapping[str, Any]) -> Question | None:
    """Return the question that these parameters ask; None where they ask none, or several at once."""
    asked = [question for name, question in _questions.items() if names.get(name) not in (None, "")]
    # A task may be named together with its instance, which can be asked about by itself.
    taking = [each for each in asked if {other.parameter for other in asked} <= {*each.parameters}]
    return taking[0] if len(taking) == 1 else None


def link_trace(correlation_id: str) -> tuple[tuple[str, str], ...]:
    """Return the way to everything that the same call caused, for `Explanation.about`."""
    if not correlation_id:
        return ()
    return ((gettext("Trace"), reverse("trace-page", query={"id": correlation_id})),)


def list_questions() -> list[Question]:
    return list(_questions.values())
