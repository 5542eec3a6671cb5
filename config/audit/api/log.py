"""`/log/`: what operators look up afterwards, from every app."""

from typing import Any

from django.db.models import QuerySet
from django.utils.translation import gettext_lazy as _
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from config.access.authentication import Principal
from config.access.scopes import Scope
from config.api.base_view import ApiView
from config.api.description import describe_call
from config.api.openapi import PAGE_PARAMETERS
from config.audit.selectors import matching_log, visible_log
from config.common.web.pagination import paginate
from config.common.web.serializers import PeriodQuery, TimestampField
from config.records.models import LogEntry


class LogQuery(PeriodQuery):
    level = serializers.ChoiceField(LogEntry.Level.choices, required=False)
    text = serializers.CharField(
        required=False, max_length=200, help_text=_("part of the English text, whatever its case")
    )


class LogEntrySerializer(serializers.Serializer[LogEntry]):
    id = serializers.IntegerField()
    at = TimestampField()
    level = serializers.ChoiceField(LogEntry.Level.choices)
    kind = serializers.ChoiceField(LogEntry.Kind.choices)
    subject = serializers.CharField()
    text = serializers.CharField(source="words", help_text=_("in the language of the call"))
    count = serializers.IntegerField(help_text=_("how often; equal entries within a minute are combined"))
    correlation_id = serializers.CharField(help_text=_("of the first of them"))


class LogListSerializer(serializers.Serializer[Any]):
    results = LogEntrySerializer(many=True)
    next = serializers.URLField(allow_null=True)


class LogView(ApiView):
    scopes = {"GET": Scope.OPERATIONS}

    @describe_call(
        operation_id="log_list",
        summary="Read the operations log",
        tags=["log"],
        parameters=[LogQuery, *PAGE_PARAMETERS],
        responses=LogListSerializer,
    )
    def get(self, request: Request) -> Response:
        """List entries about exchange processes, file errors, refused calls, alerts and sign-ins, newest first.

        Equal entries of one minute are one row with their number in `count`.
        """
        asked = LogQuery(data=request.query_params)
        asked.is_valid(raise_exception=True)
        query = asked.validated_data
        entries: QuerySet[LogEntry] = matching_log(
            level=query.get("level", ""), text=query.get("text", ""), start=query.get("from"), end=query.get("to")
        )
        if not isinstance(request.user, Principal):
            entries = entries & visible_log(request.user)
        found = paginate(request, entries, order=["-at", "-id"])
        present = LogEntrySerializer().to_representation
        return Response({"results": [present(entry) for entry in found.results], "next": found.next})
