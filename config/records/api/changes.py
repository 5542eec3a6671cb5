from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from config.common.fields import MomentField
from config.records.authentication import actor_of
from config.records.frame import ApiView
from config.records.models import ChangeRecord
from config.records.permissions import require_scope
from config.records.scopes import Scope
from config.records.services.changes import revert_change, scope_of_kind


class ChangeSerializer(serializers.Serializer[ChangeRecord]):
    id = serializers.IntegerField()
    at = MomentField()
    actor = serializers.CharField()
    action = serializers.ChoiceField(ChangeRecord.Action.choices)
    kind = serializers.CharField()
    object = serializers.CharField(source="object_id")
    before = serializers.DictField(allow_null=True)
    after = serializers.DictField(allow_null=True)
    correlation_id = serializers.CharField()
    reverts = serializers.IntegerField(source="reverts_id", allow_null=True)


class RevertView(ApiView):
    """Take back one change of the registry; the answer is the change that this makes."""

    scopes = {"POST": Scope.REGISTRY_WRITE}

    @extend_schema(operation_id="changes_revert", tags=["changes"], request=None, responses={201: ChangeSerializer})
    def post(self, request: Request, change_id: int) -> Response:
        _check_scope(request, change_id)
        change = revert_change(change_id=change_id, actor=actor_of(request))
        return Response(_present(change), status=201)


def _check_scope(request: Request, change_id: int) -> None:
    """Refuse those who may change the registry, but not objects of this kind."""
    kind = ChangeRecord.objects.filter(pk=change_id).values_list("kind", flat=True).first()
    if kind is not None:
        require_scope(request.user, scope_of_kind(kind))


def _present(change: ChangeRecord) -> dict[str, Any]:
    return dict(ChangeSerializer(change).data)
