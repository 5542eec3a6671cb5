"""Reads of revisions on trial: how a shadow stands, and where it differs."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from django.db.models import Min
from django.utils import timezone

from processes.workflows.errors import ShadowNotFound
from processes.workflows.models import ShadowDifference, ShadowExample, ShadowInput, WorkflowShadow
from processes.workflows.selectors import get_definition

MOST_COUNTED = 1000
"""Inputs that a page counts: one that is so far behind is far behind."""


@dataclass(frozen=True)
class Standing:
    """How far a shadow is, and in what it differs."""

    shadow: WorkflowShadow
    waiting: int
    """Inputs that were not compared yet, up to `MOST_COUNTED`."""
    behind: timedelta | None
    """How long the oldest of them has waited."""
    is_overtaken: bool
    """Another revision has been published since: no instance begins that it could hear, and it cannot be promoted."""
    is_deaf: bool
    """Too much waits, or nobody follows: what instances are given now is not recorded."""
    differences: Sequence[ShadowDifference]
    """The most frequent first."""


def find_shadow(key: str) -> WorkflowShadow | None:
    """Return the trial of a definition with its revisions, without their sources."""
    rows = WorkflowShadow.objects.select_related("definition", "revision", "against")
    return rows.defer("revision__source", "against__source").filter(definition=key).first()


def get_shadow(key: str) -> WorkflowShadow:
    """Return the trial of a definition; raise `ShadowNotFound` where there is none."""
    shadow = find_shadow(key)
    if shadow is None:
        get_definition(key)
        raise ShadowNotFound
    return shadow


def get_standing(key: str) -> Standing:
    shadow, now = get_shadow(key), timezone.now()
    inputs = ShadowInput.objects.filter(shadow=shadow.pk).order_by("pk")
    waiting = list(inputs.values_list("recorded_at", flat=True)[:MOST_COUNTED])
    return Standing(
        shadow=shadow,
        waiting=len(waiting),
        behind=now - waiting[0] if waiting else None,
        is_overtaken=shadow.definition.newest != shadow.against.number,
        is_deaf=shadow.hears_until is None or shadow.hears_until <= now,
        differences=list(ShadowDifference.objects.filter(shadow=shadow).order_by("-count", "kind", "place")),
    )


def find_first_examples(shadow: WorkflowShadow) -> dict[int, ShadowExample]:
    """Return the first instance that has each difference, by the id of the difference."""
    examples = ShadowExample.objects.filter(difference__shadow=shadow)
    first = examples.values("difference").annotate(first=Min("pk")).values("first")
    return {each.difference_id: each for each in ShadowExample.objects.filter(pk__in=first)}


def list_examples(shadow: WorkflowShadow, difference: int) -> Sequence[ShadowExample]:
    """Return the instances that are kept of a difference, the first first."""
    rows = ShadowExample.objects.filter(difference__shadow=shadow, difference=difference)
    return list(rows.select_related("difference").order_by("pk"))
