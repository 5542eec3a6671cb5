"""A revision on trial, in few words."""

from typing import Any

from django.utils import timezone

from processes.workflows.models import ShadowDifference, ShadowExample, WorkflowShadow
from processes.workflows.services.definitions.publish import Published, publish_definition
from processes.workflows.services.shadow.follow import follow_shadows
from tests.processes.workflows.scene import ACTOR


def try_out(source: bytes, enterprise: str | None = None) -> Published:
    """Publish as a shadow. The same file counts as another one by a comment."""
    source += b"<!-- another -->"
    return publish_definition(source=source, enterprise=enterprise, actor=ACTOR, at=timezone.now(), shadow=True)


def follow() -> WorkflowShadow:
    """Bring the twins up to date; return the only shadow with its counts."""
    while follow_shadows():
        pass
    return WorkflowShadow.objects.get()


def differences() -> list[tuple[str, str, int]]:
    return sorted(ShadowDifference.objects.values_list("kind", "place", "count"))


def sides(kind: str) -> tuple[Any, Any]:
    """Return what the live instance and its twin have of the only difference of a kind, as texts."""
    example = ShadowExample.objects.get(difference__kind=kind)
    return example.live, example.withheld
