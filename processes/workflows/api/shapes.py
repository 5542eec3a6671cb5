"""Bodies and queries of the workflow calls, and their answers as the OpenAPI schema shows them."""

import re
from typing import Any

from django.utils.translation import gettext_lazy as _
from rest_framework import serializers

from config.common.web.serializers import StrictSerializer, TimestampField
from processes.workflows.engine.event_names import CUSTOM_PREFIX, LONGEST_TYPE
from processes.workflows.engine.execution.people import HIGHEST_PRIORITY, LOWEST_PRIORITY
from processes.workflows.models.instance import Status

LARGEST_NUMBER = 2**31 - 1
LONGEST_LOCK = 86_400
MOST_TASKS = 100


class VariablesField(serializers.DictField):
    """Values by name, any JSON."""

    def __init__(self, **options: Any) -> None:
        super().__init__(child=serializers.JSONField(allow_null=True), **options)


class StartInstanceSerializer(StrictSerializer):
    definition = serializers.CharField(max_length=200)
    revision = serializers.IntegerField(required=False, min_value=1, max_value=LARGEST_NUMBER)
    record = serializers.CharField(required=False, allow_blank=True, max_length=200)
    variables = VariablesField(required=False)


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
    detail = serializers.CharField(help_text=_("which round of a loop it is"))
    assignee = serializers.CharField(help_text=_("blank where nobody has it"))
    owner = serializers.CharField(help_text=_("who has delegated it"))
    candidate_users = serializers.ListField(child=serializers.CharField())
    candidate_groups = serializers.ListField(child=serializers.CharField())
    due_at = TimestampField(allow_null=True)
    follow_up_at = TimestampField(allow_null=True)
    priority = serializers.IntegerField()
    notes = serializers.ListField(
        child=serializers.CharField(), help_text=_("what of the file could not be evaluated when it opened")
    )


class TaskQuery(serializers.Serializer[Any]):
    assignee = serializers.CharField(required=False, max_length=150, help_text=_("a user name"))
    candidate_group = serializers.CharField(
        required=False, max_length=150, help_text=_("tasks that this group may claim and nobody has")
    )
    definition = serializers.CharField(required=False, max_length=200)
    record = serializers.CharField(required=False, max_length=200)
    due_before = TimestampField(required=False)
    q = serializers.CharField(
        required=False, max_length=200, help_text=_("words of the name, record, definition or variables (name=value)")
    )


class ClaimSerializer(StrictSerializer):
    assignee = serializers.CharField(
        required=False, max_length=150, help_text=_("whose it is to be; a member of staff claims it for themselves")
    )


class AssignSerializer(StrictSerializer):
    assignee = serializers.CharField(max_length=150)


class ScheduleSerializer(StrictSerializer):
    due_at = TimestampField(required=False, allow_null=True)
    follow_up_at = TimestampField(required=False, allow_null=True)
    priority = serializers.IntegerField(required=False, min_value=LOWEST_PRIORITY, max_value=HIGHEST_PRIORITY)


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
    elements = serializers.DictField(child=serializers.CharField(), required=False)


class ExpectedSerializer(serializers.Serializer[Any]):
    """Reads one field of a command; the service reads the rest."""

    expected_version = serializers.IntegerField(required=False, min_value=0, max_value=LARGEST_NUMBER)


class DecisionNoteSerializer(serializers.Serializer[Any]):
    element = serializers.CharField()
    decision = serializers.CharField()
    revision = serializers.IntegerField()
    rules = serializers.ListField(child=serializers.IntegerField(), help_text=_("the rules that matched, from 1"))
    times = serializers.IntegerField(help_text=_("how often it was evaluated"))


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
    decisions = DecisionNoteSerializer(many=True, help_text=_("the decisions that led to this version"))


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
    # Any letters and blanks: it is the name of a message or signal, as people have written it in a file.
    type = serializers.RegexField(rf"^{re.escape(CUSTOM_PREFIX)}[\s\S]+\Z", max_length=LONGEST_TYPE)
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
    correlation_id = serializers.CharField(
        help_text=_("a worker that sends it as X-Correlation-ID continues the same trace")
    )


class FetchedListSerializer(serializers.Serializer[Any]):
    results = FetchedSerializer(many=True)
    next = serializers.URLField(allow_null=True)


class CompleteSerializer(StrictSerializer):
    worker = serializers.CharField(max_length=100)
    variables = VariablesField(required=False)


class FailSerializer(StrictSerializer):
    worker = serializers.CharField(max_length=100)
    error = serializers.CharField(required=False, max_length=10_000, help_text=_("required unless there is a code"))
    code = serializers.CharField(required=False, max_length=200, help_text=_("raises a BPMN error with this code"))
    error_message = serializers.CharField(
        required=False, allow_blank=True, max_length=10_000, help_text=_("of the BPMN error")
    )
    variables = VariablesField(required=False, help_text=_("set before the BPMN error is raised"))
    retries = serializers.IntegerField(
        required=False, min_value=0, max_value=1000, help_text=_("without it: as the file says, else 0")
    )
    delay = serializers.FloatField(
        required=False, min_value=0, max_value=30 * 86_400, help_text=_("without it: as the file says, else 0")
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        faults: dict[str, Any] = {}
        if "code" not in attrs:
            if "error" not in attrs:
                faults["error"] = [_("This field is required.")]
            for name in ("error_message", "variables"):
                if name in attrs:
                    faults[name] = [_("Only together with a code.")]
        if faults:
            raise serializers.ValidationError(faults)
        return attrs


class ExtendLockSerializer(StrictSerializer):
    worker = serializers.CharField(max_length=100)
    lock_seconds = serializers.FloatField(min_value=1, max_value=LONGEST_LOCK)


class LockSerializer(serializers.Serializer[Any]):
    id = serializers.CharField()
    worker = serializers.CharField()
    locked_until = TimestampField()
