"""`/workflows/definitions/{key}/shadow/`: a revision on trial beside the current one."""

from typing import Any

from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response

from config.access.authentication import actor_of
from config.access.scopes import Scope
from config.api.base_view import ApiView
from config.api.description import describe_call
from config.common.times import format_time
from processes.workflows.api import definition_shapes
from processes.workflows.errors import (
    DefinitionNotFound,
    RevisionConflict,
    ScenariosFailed,
    ShadowExists,
    ShadowNotFound,
)
from processes.workflows.models import ShadowDifference, ShadowExample
from processes.workflows.selectors import get_definition
from processes.workflows.services.shadow.end import discard_shadow, promote_shadow
from processes.workflows.shadows import find_first_examples, get_standing


class ShadowView(ApiView):
    scopes = {"GET": Scope.WORKFLOWS_READ}

    @describe_call(
        operation_id="workflow_shadow_get",
        summary="Read how a revision on trial stands",
        tags=["workflows"],
        responses=definition_shapes.ShadowSerializer,
        errors=[DefinitionNotFound, ShadowNotFound],
    )
    def get(self, request: Request, key: str) -> Response:
        """Return how many instances were compared, and each difference with the first instance that has it.

        What the instances of the current revision are given is also given to the revision on trial, whose effects are
        withheld. `live` is what an instance did, `withheld` what it would have done; both are JSON texts, which are cut
        where they are long. `first` says that the two have parted there.
        """
        standing = get_standing(key)
        shadow, examples = standing.shadow, find_first_examples(standing.shadow)
        answer = {
            "key": shadow.definition_id,
            "revision": shadow.revision.number,
            "current": shadow.against.number,
            "since": format_time(shadow.since),
            "actor": shadow.actor,
            "overtaken": standing.is_overtaken,
            "recording": not standing.is_deaf,
            "waiting": standing.waiting,
            "behind_seconds": 0 if standing.behind is None else max(0, round(standing.behind.total_seconds())),
            "steps": shadow.steps,
            "following": shadow.following,
            "equal": shadow.equal,
            "different": shadow.different,
            "incomplete": shadow.incomplete,
            "left_out": shadow.left_out,
            "differences": [_difference(each, examples.get(each.pk)) for each in standing.differences],
        }
        return Response(answer)


class PromoteView(ApiView):
    scopes = {"POST": Scope.WORKFLOWS_WRITE}

    @describe_call(
        operation_id="workflow_shadow_promote",
        summary="Promote a revision on trial",
        tags=["workflows"],
        request=definition_shapes.EndShadowBody,
        responses=definition_shapes.RevisionKeySerializer,
        errors=[DefinitionNotFound, ShadowNotFound, ShadowExists, RevisionConflict, ScenariosFailed],
    )
    def post(self, request: Request, key: str) -> Response:
        """Make the revision on trial the one that instances start with; what was compared is deleted.

        `revision` names the one that the caller has seen on trial. Where another revision was published since the trial
        began, it stays the current one: 409 `revision_conflict`.
        """
        number = promote_shadow(key, revision=_read_revision(request), actor=actor_of(request), at=timezone.now())
        return Response(_revision(key, number))


class DiscardView(ApiView):
    scopes = {"POST": Scope.WORKFLOWS_WRITE}

    @describe_call(
        operation_id="workflow_shadow_discard",
        summary="Discard a revision on trial",
        tags=["workflows"],
        request=definition_shapes.EndShadowBody,
        responses=definition_shapes.RevisionKeySerializer,
        errors=[DefinitionNotFound, ShadowNotFound, ShadowExists],
    )
    def post(self, request: Request, key: str) -> Response:
        """End the trial: what was compared is deleted, the revision stays to be looked at. Nothing else changes."""
        number = discard_shadow(key, revision=_read_revision(request), actor=actor_of(request))
        return Response(_revision(key, number))


def _read_revision(request: Request) -> int | None:
    body = definition_shapes.EndShadowBody(data=request.data)
    body.is_valid(raise_exception=True)
    number: int | None = body.validated_data.get("revision")
    return number


def _revision(key: str, number: int) -> dict[str, Any]:
    return {"key": key, "revision": number, "kind": get_definition(key).kind}


def _difference(difference: ShadowDifference, example: ShadowExample | None) -> dict[str, Any]:
    return {
        "kind": difference.kind,
        "place": difference.place,
        "instances": difference.count,
        "first_at": format_time(difference.first_at),
        "last_at": format_time(difference.last_at),
        "example": None
        if example is None
        else {
            "instance": str(example.instance),
            "version": example.version,
            "at": format_time(example.at),
            "first": example.is_first,
            "live": example.live,
            "withheld": example.withheld,
        },
    }
