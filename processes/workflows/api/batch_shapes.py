"""Filters over instances and batches, as the calls take and answer them."""

from typing import Any

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from rest_framework import serializers

from config.common.web.serializers import BoundedListField, StrictSerializer, TimestampField
from processes.workflows.api.shapes import LARGEST_NUMBER, VariablesField
from processes.workflows.filters import LEAST_LETTERS, MOST_VARIABLES, InstanceFilter
from processes.workflows.models import BatchItem, WorkflowBatch
from processes.workflows.models.instance import Status

LONGEST_VARIABLE = 310
MOST_NAMED = 1_000


class FilterFields(serializers.Serializer[Any]):
    status = serializers.ChoiceField(Status.choices, required=False)
    definition = serializers.CharField(required=False, max_length=200)
    revision = serializers.IntegerField(
        required=False, min_value=1, max_value=LARGEST_NUMBER, help_text=_("of the definition")
    )
    record = serializers.CharField(required=False, max_length=200)
    element = serializers.CharField(required=False, max_length=200, help_text=_("where they stand"))
    incident = serializers.CharField(
        required=False,
        min_length=LEAST_LETTERS,
        max_length=200,
        help_text=_("a part of the text of an open incident"),
    )
    variable = BoundedListField(
        child=serializers.CharField(max_length=LONGEST_VARIABLE, trim_whitespace=False),
        required=False,
        max_length=MOST_VARIABLES,
        help_text=_("each as name=value; all must hold"),
    )
    started_after = TimestampField(required=False, help_text=_("or at that time"))
    started_before = TimestampField(required=False)

    def validate_variable(self, value: list[str]) -> list[str]:
        if any("=" not in each for each in value):
            raise serializers.ValidationError(gettext("Must be name=value."))
        return value

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if "revision" in attrs and "definition" not in attrs:
            raise serializers.ValidationError({"definition": [gettext("A revision is one of a definition: name it.")]})
        return attrs


def read_filter(found: dict[str, Any]) -> InstanceFilter:
    """Return the filter of checked fields."""
    return InstanceFilter(**{**found, "variable": tuple(found.get("variable", ()))})


class InstanceQuery(FilterFields):
    def read(self) -> InstanceFilter:
        return read_filter(self.validated_data)


class FilterSerializer(StrictSerializer, FilterFields):
    """Which instances; those that have not ended, unless a status is asked for."""


class BatchSerializer(StrictSerializer):
    operation = serializers.ChoiceField(WorkflowBatch.Operation.choices)
    filter = FilterSerializer(required=False)
    instances = BoundedListField(
        child=serializers.UUIDField(),
        required=False,
        max_length=MOST_NAMED,
        allow_empty=False,
        help_text=_("their ids, instead of a filter"),
    )
    variables = VariablesField(required=False, help_text=_("of set_variables"))
    revision = serializers.IntegerField(
        required=False, min_value=1, max_value=LARGEST_NUMBER, help_text=_("of migrate: where to")
    )
    elements = serializers.DictField(
        child=serializers.CharField(max_length=200),
        required=False,
        help_text=_("of migrate: where elements of other ids continue"),
    )
    note = serializers.CharField(required=False, allow_blank=True, max_length=1000, help_text=_("of retry"))
    dry_run = serializers.BooleanField(required=False, default=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if ("filter" in attrs) == ("instances" in attrs):
            raise serializers.ValidationError({"filter": [gettext("Give either a filter or instances.")]})
        return attrs


class BatchOutcomeSerializer(serializers.Serializer[Any]):
    status = serializers.ChoiceField(BatchItem.Status.choices)
    reason = serializers.CharField()
    count = serializers.IntegerField()
    examples = serializers.ListField(child=serializers.UUIDField())


class BatchAnswerSerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    operation = serializers.ChoiceField(WorkflowBatch.Operation.choices)
    parameters = VariablesField()
    filter = VariablesField()
    status = serializers.ChoiceField(WorkflowBatch.Status.choices)
    total = serializers.IntegerField()
    changed = serializers.IntegerField(help_text=_("in a dry run: how many would be"))
    refused = serializers.IntegerField()
    undone = serializers.IntegerField()
    kept = serializers.IntegerField(help_text=_("by the undo, as they had gone on"))
    actor = serializers.CharField()
    created_at = TimestampField()
    ended_at = TimestampField(allow_null=True)


class BatchDetailSerializer(BatchAnswerSerializer):
    outcomes = BatchOutcomeSerializer(many=True, help_text=_("how many came to which outcome, and why"))


class BatchListSerializer(serializers.Serializer[Any]):
    results = BatchAnswerSerializer(many=True)
    next = serializers.URLField(allow_null=True)


class BatchItemQuery(serializers.Serializer[Any]):
    status = serializers.ChoiceField(BatchItem.Status.choices, required=False)


class BatchItemSerializer(serializers.Serializer[Any]):
    instance = serializers.UUIDField()
    status = serializers.ChoiceField(BatchItem.Status.choices)
    reason = serializers.CharField()
    before = serializers.IntegerField(allow_null=True)
    after = serializers.IntegerField(allow_null=True)


class BatchItemListSerializer(serializers.Serializer[Any]):
    results = BatchItemSerializer(many=True)
    next = serializers.URLField(allow_null=True)


class UndoSerializer(StrictSerializer):
    reason = serializers.CharField(required=False, allow_blank=True, max_length=180)
