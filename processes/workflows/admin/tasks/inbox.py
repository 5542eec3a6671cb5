"""The tabs of the inbox: my tasks, those of my groups that nobody has taken, all; each in its order by an index."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from django.db.models import Count, QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils import timezone
from django.utils.functional import Promise, cached_property
from django.utils.translation import gettext_lazy as _

from config.admin_base.counts import MOST_ON_A_BADGE, badge_text, count_each
from config.admin_base.lists import MOST_COUNTED, BoundedPaginator
from processes.workflows.models import WorkItem
from processes.workflows.selectors import find_offered_tasks, offers_to, tasks_of, tasks_offered_to, waiting_tasks
from processes.workflows.task_rights import Person, person_of

TAB = "whose"
MINE, GROUPS, ALL = "mine", "groups", "all"
TABS: dict[str, Promise] = {MINE: _("Mine"), GROUPS: _("My groups'"), ALL: _("All")}


@dataclass(frozen=True)
class Tab:
    name: str
    title: Promise
    count: str
    address: str
    is_chosen: bool


@dataclass(frozen=True)
class Inbox:
    """Whose tasks a request is about, and how many each tab has."""

    person: Person
    counts: dict[str, int]
    chosen: str

    def rows(self, waiting: QuerySet[Any]) -> QuerySet[Any]:
        """Narrow the tasks that wait for people down to those of the chosen tab."""
        if self.chosen == MINE:
            return waiting.filter(assignee=self.person.name)
        return waiting.filter(pk__in=offers_to(self.person).values("item_id")) if self.chosen == GROUPS else waiting

    def tabs(self, request: HttpRequest) -> list[Tab]:
        query = request.GET.copy()
        query.pop("p", None)
        found = []
        for name, title in TABS.items():
            query[TAB] = name
            count = badge_text(self.counts[name], most=MOST_ON_A_BADGE)
            found.append(Tab(name, title, count, f"?{query.urlencode()}", name == self.chosen))
        return found


def inbox_of(request: HttpRequest) -> Inbox:
    """Return the inbox of whoever asks; without a tab in the address, the first one that has something."""
    known = request.__dict__.get("_inbox")
    if known is None:
        person = person_of(request.user)
        rows: Sequence[QuerySet[Any]] = (tasks_of(person), tasks_offered_to(person), waiting_tasks())
        counts = dict(zip(TABS, count_each(rows, most=MOST_ON_A_BADGE), strict=True))
        asked = request.GET.get(TAB, "")
        first = next((name for name in (MINE, GROUPS) if counts[name]), ALL)
        known = request.__dict__["_inbox"] = Inbox(person, counts, asked if asked in TABS else first)
    return cast(Inbox, known)


class OfferedPaginator(BoundedPaginator):
    """Pages of the tasks that are offered to a person, read from the index of each of their groups."""

    person: Person

    @cached_property
    def count(self) -> int:
        # A task may be offered to several groups of the same person: twice as many rows have enough tasks.
        rows = offers_to(self.person)[: 2 * MOST_COUNTED + 1]
        found: int = rows.aggregate(count=Count("item_id", distinct=True))["count"]
        return min(found, MOST_COUNTED + 1)

    def page(self, number: Any) -> Any:
        number = self.validate_number(number)
        ids = find_offered_tasks(self.person, offset=(number - 1) * self.per_page, limit=self.per_page)
        rows = cast(QuerySet[Any], self.object_list)
        # Those alone: the list itself would look through all that is offered.
        plain = rows.model._default_manager.filter(pk__in=ids).select_related("instance__definition").defer("inputs")
        return self._get_page(sorted(plain, key=lambda item: ids.index(item.pk)), number, self)  # type: ignore[attr-defined]


MOST_ON_THE_START_PAGE = 8


def my_tasks_view(request: HttpRequest) -> HttpResponse:
    """Answer the card of the start page: the tasks of whoever asks and of their groups, the most urgent first."""
    person = person_of(request.user)
    offered = find_offered_tasks(person, limit=MOST_ON_THE_START_PAGE)
    rows = WorkItem.objects.select_related("instance__definition").defer("inputs", "search")
    order = ("deadline_at", "-priority", "id")
    mine = rows.filter(pk__in=tasks_of(person).order_by(*order).values("pk")[:MOST_ON_THE_START_PAGE])
    found = {item.pk: item for item in (*mine, *rows.filter(pk__in=offered))}
    tasks = sorted(found.values(), key=lambda item: (item.deadline_at, -item.priority, item.pk))
    context = {"tasks": tasks[:MOST_ON_THE_START_PAGE], "now": timezone.now()}
    return TemplateResponse(request, "admin/workflows/my_tasks.html", context)
