"""Who may do what with a task of people: its assignee, its candidates, and whoever may change workflows."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, cast

from django.contrib.auth.models import Group, User
from django.db.models import Q, QuerySet

from config.access.authentication import Principal
from config.access.permissions import has_scope
from config.access.scopes import Scope
from processes.workflows.models import TaskCandidate, WorkItem

MOST_GROUPS = 100


@dataclass(frozen=True)
class Person:
    """Whoever acts on tasks: a member of staff, or a program with a key, which has no name among assignees."""

    name: str
    groups: tuple[str, ...]
    may_change: bool

    @property
    def places(self) -> list[tuple[str, str]]:
        """The names under which tasks are offered to this person."""
        groups = [(TaskCandidate.Kind.GROUP.value, group) for group in self.groups]
        return [(TaskCandidate.Kind.USER.value, self.name), *groups] if self.name else groups

    @property
    def is_candidate(self) -> Q:
        """The condition on rows of candidates."""
        own = Q(kind=TaskCandidate.Kind.USER, name=self.name)
        return own | Q(kind=TaskCandidate.Kind.GROUP, name__in=self.groups) if self.groups else own


def person_of(user: Any) -> Person:
    """Return who a request comes from, with their groups."""
    if isinstance(user, Principal):
        return Person("", (), has_scope(user, Scope.WORKFLOWS_WRITE))
    known = user.__dict__.get("_person")  # the menu asks on every page, and so does the page itself
    if known is None:
        groups = Group.objects.filter(user=user).order_by("name").values_list("name", flat=True)[:MOST_GROUPS]
        known = Person(user.get_username(), tuple(groups), has_scope(user, Scope.WORKFLOWS_WRITE))
        user.__dict__["_person"] = known
    return cast(Person, known)


@dataclass(frozen=True)
class TaskRights:
    """What a person may do with a task as it is now."""

    claim: bool = False
    """Take it: nobody has it."""
    release: bool = False
    """Give it back: to its owner, else to its candidates."""
    assign: bool = False
    schedule: bool = False
    complete: bool = False


def rights_over(item: WorkItem, person: Person, candidates: Iterable[TaskCandidate]) -> TaskRights:
    """Return what a person may do with a task; with one that is closed or not for people, nothing."""
    if item.status != WorkItem.Status.OPEN or item.kind not in WorkItem.FOR_PEOPLE:
        return TaskRights()
    is_mine = bool(item.assignee) and item.assignee == person.name
    is_offered = not item.assignee and any((each.kind, each.name) in person.places for each in candidates)
    return TaskRights(
        claim=not item.assignee and bool(person.name) and (is_offered or person.may_change),
        release=bool(item.assignee) and (is_mine or person.may_change),
        assign=is_mine or person.may_change,
        schedule=is_mine or person.may_change,
        complete=is_mine or (not item.assignee and (is_offered or person.may_change)),
    )


def find_people(names: Iterable[str]) -> dict[str, User]:
    """Return the accounts of these user names; a name without one is left out."""
    return {user.username: user for user in User.objects.filter(username__in=set(names))}


def assignable_people() -> QuerySet[User]:
    return User.objects.filter(is_active=True, is_staff=True).order_by("username")
