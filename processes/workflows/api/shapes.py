"""Bodies and queries of the workflow calls, and their answers as the OpenAPI schema shows them."""

from typing import Any

from django.utils.translation import gettext_lazy as _
from rest_framework import serializers

from config.common.web.serializers import StrictSerializer, TimestampField
from processes.workflows.models.instance import Status

LARGEST_NUMBER = 2**31 - 1
LONGEST_LOCK = 86_400
MOST_TASKS = 100


class VariablesField(serializers.DictField):
    """Values by name, any JSON."""

    def __init__(self, **options: Any) -> None:
        super().__init__(child=serializers.JSONField(allow_null=True), **options)


class PublishSerializer(StrictSerializer):
    source = serializers.CharField(trim_whitespace=False, help_text=_("the XML of the file"))  # type: ignore[assignment]
    enterprise = serializers.CharField(required=False, allow_null=True, max_length=36)


class UploadSerializer(StrictSerializer):
    file = serializers.FileField()
    enterprise = serializers.CharField(required=False, max_length=36)


class PublishedSerializer(serializers.Serializer[Any]):
    key = serializers.CharField()
    revision = serializers.IntegerField()
    kind = serializers.ChoiceField(["bpmn", "cmmn"])


class DefinitionSerializer(PublishedSerializer):
    name = serializers.CharField()
    enterprise = serializers.CharField(allow_null=True)


class DefinitionListSerializer(serializers.Serializer[Any]):
    results = DefinitionSerializer(many=True)
    next = serializers.URLField(allow_null=True)


class RevisionSerializer(PublishedSerializer):
    at = TimestampField()
    actor = serializers.CharField()


class RevisionListSerializer(serializers.Serializer[Any]):
    results = RevisionSerializer(many=True)
    next = serializers.URLField(allow_null=True)


class RevisionWithSourceSerializer(RevisionSerializer):
    source = serializers.CharField()  # type: ignore[assignment]


class StartInstanceSerializer(StrictSerializer):
    definition = serializers.CharField(max_length=200)
    revision = serializers.IntegerField(required=False, min_value=1, max_value=LARGEST_NUMBER)
    record = serializers.CharField(required=False, allow_blank=True, max_length=200)
    variables = VariablesField(required=False)


class InstanceQuery(serializers.Serializer[Any]):
    status = serializers.ChoiceField(Status.choices, required=False)
    definition = serializers.CharField(required=False, max_length=200)
    record = serializers.CharField(required=False, max_length=200)


class ActiveSerializer(serializers.Serializer[Any]):
    element = serializers.CharField()
    kind = serializers.CharField()
    since = TimestampField()


class TaskSerializer(serializers.Serializer[Any]):
    id = serializers.CharField()
    element = serializers.CharField()
    name = serializers.CharField()
    kind = serializers.CharField()


class TimerSerializer(serializers.Serializer[Any]):
    id = serializers.CharField()
    element = serializers.CharField()
    kind = serializers.CharField()
    due_at = TimestampField()


class ItemSerializer(serializers.Serializer[Any]):
    id = serializers.CharField()
    element = serializers.CharField()
    state = serializers.CharField()


class IncidentSerializer(serializers.Serializer[Any]):
    id = serializers.IntegerField()
    element = serializers.CharField()
    command = serializers.CharField()
    reason = serializers.CharField()
    at = TimestampField()
    times = serializers.IntegerField()


class InstanceSerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    definition = serializers.CharField()
    revision = serializers.IntegerField()
    record = serializers.CharField()
    status = serializers.ChoiceField(Status.choices)
    version = serializers.IntegerField()
    variables = VariablesField()
    active = ActiveSerializer(many=True)
    tasks = TaskSerializer(many=True)
    timers = TimerSerializer(many=True)
    items = ItemSerializer(many=True)
    incidents = IncidentSerializer(many=True)


class InstanceListSerializer(serializers.Serializer[Any]):
    results = InstanceSerializer(many=True)
    next = serializers.URLField(allow_null=True)


class OpenTaskSerializer(TaskSerializer):
    since = TimestampField()
    instance = serializers.UUIDField()
    definition = serializers.CharField()
    record = serializers.CharField()


class OpenTaskListSerializer(serializers.Serializer[Any]):
    results = OpenTaskSerializer(many=True)
    next = serializers.URLField(allow_null=True)


class CommandSerializer(StrictSerializer):
    command = serializers.CharField()
    expected_version = serializers.IntegerField(required=False, min_value=0, max_value=LARGEST_NUMBER)
    task = serializers.CharField(required=False)
    item = serializers.CharField(required=False)
    name = serializers.CharField(required=False)
    variables = VariablesField(required=False)
    note = serializers.CharField(required=False)
    incident = serializers.IntegerField(required=False)
    revision = serializers.IntegerField(required=False)


class ExpectedSerializer(serializers.Serializer[Any]):
    """Reads one field of a command; the service reads the rest."""

    expected_version = serializers.IntegerField(required=False, min_value=0, max_value=LARGEST_NUMBER)


class VersionSerializer(serializers.Serializer[Any]):
    number = serializers.IntegerField()
    parent = serializers.IntegerField(allow_null=True)  # type: ignore[assignment]
    cause = serializers.CharField()
    actor = serializers.CharField()
    at = TimestampField()
    status = serializers.ChoiceField(Status.choices)
    variables = VariablesField()
    active = ActiveSerializer(many=True)
    definition_revision = serializers.IntegerField()
    correlation_id = serializers.CharField()


class VersionListSerializer(serializers.Serializer[Any]):
    results = VersionSerializer(many=True)
    next = serializers.URLField(allow_null=True)


class NumberField(serializers.IntegerField):
    """The number of a version."""

    def __init__(self, **options: Any) -> None:
        super().__init__(min_value=1, max_value=LARGEST_NUMBER, **options)


class DifferenceQuery(serializers.Serializer[Any]):
    to = NumberField()

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        return {"from": NumberField(), **super().get_fields()}


class DifferenceSerializer(serializers.Serializer[Any]):
    variables = serializers.DictField()
    active = serializers.DictField()


class ReturnSerializer(StrictSerializer):
    version = NumberField()
    reason = serializers.CharField(max_length=1000)
    dry_run = serializers.BooleanField(required=False, default=False)


class PreviewSerializer(serializers.Serializer[Any]):
    cancelled = serializers.ListField(child=serializers.DictField())
    restarted = serializers.ListField(child=serializers.DictField())
    irrevocable = serializers.ListField(child=serializers.DictField())


class EventSerializer(StrictSerializer):
    type = serializers.RegexField(r"^custom\.\S+\Z", max_length=80)
    id = serializers.CharField(required=False, max_length=200)
    record = serializers.CharField(required=False, allow_blank=True, max_length=200)
    payload = serializers.JSONField(allow_null=True)


class ReceivedSerializer(serializers.Serializer[Any]):
    id = serializers.CharField()


class FetchSerializer(StrictSerializer):
    topic = serializers.CharField(max_length=200)
    worker = serializers.CharField(max_length=100)
    max = serializers.IntegerField(required=False, default=1, min_value=1, max_value=MOST_TASKS)
    lock_seconds = serializers.FloatField(required=False, default=60, min_value=1, max_value=LONGEST_LOCK)


class FetchedSerializer(serializers.Serializer[Any]):
    id = serializers.CharField()
    topic = serializers.CharField()
    element = serializers.CharField()
    instance = serializers.UUIDField()
    definition = serializers.CharField()
    record = serializers.CharField()
    variables = VariablesField()
    worker = serializers.CharField()
    locked_until = TimestampField()
    retries = serializers.IntegerField(allow_null=True)
    error = serializers.CharField()


class FetchedListSerializer(serializers.Serializer[Any]):
    results = FetchedSerializer(many=True)
    next = serializers.URLField(allow_null=True)


class CompleteSerializer(StrictSerializer):
    worker = serializers.CharField(max_length=100)
    variables = VariablesField(required=False)


class FailSerializer(StrictSerializer):
    worker = serializers.CharField(max_length=100)
    error = serializers.CharField(max_length=10_000)
    retries = serializers.IntegerField(required=False, default=0, min_value=0, max_value=1000)
    delay = serializers.FloatField(required=False, default=0, min_value=0, max_value=30 * 86_400)
