from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from config.access.authentication import actor_of
from config.access.permissions import require_scope
from config.access.scopes import Scope
from config.api.base_view import ApiView
from config.api.description import describe_call
from config.audit.changes import (
    AlreadyReverted,
    ChangedSince,
    ChangeNotFound,
    NotRevertible,
    revert_change,
    scope_of_kind,
)
from config.common.web.serializers import TimestampField
from config.common.web.struct_schema import page_serializer
from config.records.models import ChangeRecord


class ChangeSerializer(serializers.Serializer[ChangeRecord]):
    id = serializers.IntegerField()
    at = TimestampField()
    actor = serializers.CharField()
    action = serializers.ChoiceField(ChangeRecord.Action.choices)
    kind = serializers.CharField()
    object = serializers.CharField(source="object_id")
    before = serializers.DictField(allow_null=True)
    after = serializers.DictField(allow_null=True)
    correlation_id = serializers.CharField()
    reverts = serializers.IntegerField(source="reverts_id", allow_null=True)


ChangeListSerializer = page_serializer(ChangeSerializer)


class RevertView(ApiView):
    scopes = {"POST": Scope.REGISTRY_WRITE}

    @describe_call(
        operation_id="changes_revert",
        summary="Revert a change of the registry",
        tags=["changes"],
        request=None,
        responses={201: ChangeSerializer},
        errors=[ChangeNotFound, AlreadyReverted, ChangedSince, NotRevertible],
    )
    def post(self, request: Request, change_id: int) -> Response:
        """Bring an object back to what it was before a change, and answer with the change that this makes.

        A change is reverted once, and only while nothing newer has touched the same object: revert the newer change
        first. An object of messaging takes the scope `parties:write` in addition.
        """
        kind = ChangeRecord.objects.filter(pk=change_id).values_list("kind", flat=True).first()
        if kind is not None:
            # Some who may change the registry may not change objects of this kind.
            require_scope(request.user, scope_of_kind(kind))
        change = revert_change(change_id=change_id, actor=actor_of(request))
        return Response(dict(ChangeSerializer(change).data), status=201)
