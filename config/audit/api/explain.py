"""`/explain/`: why something did not happen, as one verdict with its evidence."""

from typing import Any

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from rest_framework import serializers
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from config.access.authentication import Principal
from config.access.permissions import require_scope
from config.api.base_view import ApiView
from config.api.description import describe_call
from config.audit.api.trace import IdField
from config.audit.explain import MOST_EVIDENCE, Asker, Question, find_question, list_questions
from config.common.errors import WrongKind
from config.common.times import format_time
from config.common.web.serializers import TimestampField
from config.records.models import AccessKey


class ExplainQuery(serializers.Serializer[Any]):
    sensor = serializers.CharField(required=False, max_length=16, help_text=_("with `client` and `at`"))
    client = serializers.IntegerField(required=False, min_value=1, max_value=2**63 - 1)
    at = TimestampField(required=False, help_text=_("approximate; the exact time of a signal or event means that one"))
    about = serializers.ChoiceField(["state", "connection", "open"], required=False, help_text=_("where several fit"))
    delivery = serializers.IntegerField(required=False, min_value=1, max_value=2**63 - 1)
    message = serializers.CharField(required=False, max_length=36, help_text=_("with `enterprise`"))
    enterprise = serializers.CharField(required=False, max_length=36, help_text=_("a device or database has its own"))
    instance = serializers.UUIDField(required=False, help_text=_("of a workflow"))
    task = serializers.CharField(required=False, max_length=300, help_text=_("its id, or with `instance` its element"))
    change_set = serializers.IntegerField(required=False, min_value=1, max_value=2**63 - 1)
    reader = serializers.CharField(required=False, max_length=50, help_text=_("else the first that does not have it"))
    signal = serializers.CharField(required=False, max_length=64, help_text=_("the id of a signal of that very time"))

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        question = find_question(attrs)
        if question is None:
            names = ", ".join(each.parameter for each in list_questions())
            rule = gettext("Ask by exactly one of: %(names)s.") % {"names": names}
            raise serializers.ValidationError({"sensor": [rule]})
        faults = {name: [gettext("This question needs it.")] for name in question.needs if name not in attrs}
        foreign = [name for name in attrs if name not in question.parameters]
        faults |= {name: [gettext("This question does not take it.")] for name in foreign}
        if faults:
            raise serializers.ValidationError(faults)
        return attrs


class EvidenceSerializer(serializers.Serializer[Any]):
    at = TimestampField(allow_null=True)
    kind = serializers.CharField(help_text=_("signal, event, delivery, attempt, change and so on"))
    id = IdField(help_text=_("as the calls about that kind name it; empty where it has no row"))
    summary = serializers.CharField()
    data = serializers.DictField()  # type: ignore[assignment]


class NearbySerializer(serializers.Serializer[Any]):
    at = TimestampField()
    kind = serializers.CharField()
    summary = serializers.CharField()
    ask = serializers.DictField(help_text=_("the parameters that ask about it"))


class ExplanationSerializer(serializers.Serializer[Any]):
    question = serializers.CharField(help_text=_("what was asked, for people"))
    verdict = serializers.CharField(help_text=_("a word that stays: what to branch on"))
    text = serializers.CharField(help_text=_("the same for people, in the language of the call"))
    since = TimestampField(allow_null=True)
    until = TimestampField(allow_null=True)
    evidence = EvidenceSerializer(many=True)
    nearby = NearbySerializer(many=True)


class QuestionPermission(BasePermission):
    """Allow whoever may read what is asked about: each question has a scope, and the kinds of key that own it."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        caller: Any = request.user
        if caller is None:
            return False
        question = find_question(request.query_params)
        if question is None:
            return True  # the answer is 400
        if isinstance(caller, Principal) and caller.kind != AccessKey.Kind.SERVICE:
            if caller.kind not in question.key_kinds:
                raise WrongKind(scope=str(question.scope), kinds=sorted(question.key_kinds))
            return True
        require_scope(caller, question.scope)
        return True


class ExplainView(ApiView):
    permission_classes = [QuestionPermission]

    @describe_call(
        operation_id="explain_get",
        summary="Ask why something did not happen",
        tags=["trace"],
        parameters=[ExplainQuery],
        responses=ExplanationSerializer,
        errors=lambda: [error for question in list_questions() for error in question.errors],
    )
    def get(self, request: Request) -> Response:
        """Answer one question with one verdict and the rows it rests on.

        `?sensor=&client=&at=` [history:read, or the client's own key]: why was this client not told about this sensor?
        The verdict is where the way of the signal ended: `no_signal`, `unchanged`, `late`, `repeat`, `refused`,
        `sensor_inactive`, `not_linked`, `muted`, `superseded`, `paused`, `breaker_open`, `dead`, `pending`, and so on;
        `told` where it was. Where the evidence is away or has expired, that is said: `history_away`,
        `evidence_expired`.

        `?delivery=` [history:read, or the client's own key]: why has this message not arrived?

        `?message=&enterprise=` [operations, or the key of its sender]: why has the ERP, or the device, not had it?

        `?instance=` [workflows:read]: why does this workflow instance stand still?

        `?task=` or `?instance=&task=` with the id of an element [workflows:read]: why is this task not there?

        `?change_set=&reader=` [coordination]: why does this reader not have this change set?

        Takes a service key with the scope that stands in brackets, or the key that is named beside it.
        """
        asked = ExplainQuery(data=request.query_params)
        asked.is_valid(raise_exception=True)
        question = find_question(asked.validated_data)
        assert question is not None
        answer = question.explain(asked.validated_data, _asker(request))
        shown = [row for row in answer.evidence if _may_see(request, question, row.permission)]
        fields = {name: getattr(answer, name) for name in ("question", "verdict", "text", "since", "until", "nearby")}
        return Response(ExplanationSerializer({**fields, "evidence": shown[:MOST_EVIDENCE]}).data)


def _asker(request: Request) -> Asker:
    caller = request.user
    if not isinstance(caller, Principal) or caller.kind == AccessKey.Kind.SERVICE:
        return Asker(show_time=format_time)
    client = int(caller.subject) if caller.kind == AccessKey.Kind.CLIENT else None
    return Asker(client, caller.enterprise, caller.subject, show_time=format_time)


def _may_see(request: Request, question: Question, permission: str) -> bool:
    """A key sees what its question is about; a member of staff of it what they may see elsewhere."""
    if isinstance(request.user, Principal):
        return request.user.kind == AccessKey.Kind.SERVICE or permission in question.own_rows
    return bool(request.user.has_perm(permission))
