"""Bodies and answers of the calls about definitions, decisions and scenarios, as the OpenAPI schema shows them."""

from typing import Any

from django.utils.translation import gettext_lazy as _
from rest_framework import serializers

from config.common.web.serializers import StrictSerializer, TimestampField
from processes.workflows.api.shapes import LARGEST_NUMBER, VariablesField
from processes.workflows.engine.form_files import MAX_FORMS
from processes.workflows.visits.figures import Period


class PublishSerializer(StrictSerializer):
    source = serializers.CharField(trim_whitespace=False, help_text=_("the XML of the file"))  # type: ignore[assignment]
    enterprise = serializers.CharField(required=False, allow_null=True, max_length=36)
    forms = serializers.ListField(
        child=serializers.DictField(),
        required=False,
        max_length=MAX_FORMS,
        help_text=_("forms as JSON that user tasks refer to by their ids"),
    )


class UploadSerializer(StrictSerializer):
    file = serializers.FileField()
    enterprise = serializers.CharField(required=False, max_length=36)
    forms = serializers.ListField(
        child=serializers.FileField(),
        required=False,
        max_length=MAX_FORMS,
        help_text=_("files of forms that user tasks refer to by their ids or names"),
    )


class PublishQuery(serializers.Serializer[Any]):
    strict = serializers.BooleanField(
        required=False, help_text=_("refuse a file of which something would have no effect here")
    )
    drawing = serializers.BooleanField(
        required=False, help_text=_("keep a file that cannot be run as a revision to look at")
    )
    shadow = serializers.BooleanField(
        required=False, help_text=_("try the revision beside the current one, with its effects withheld")
    )


class RevisionKeySerializer(serializers.Serializer[Any]):
    key = serializers.CharField()
    revision = serializers.IntegerField()
    kind = serializers.ChoiceField(["bpmn", "cmmn", "dmn"])


class ProblemSerializer(serializers.Serializer[Any]):
    element = serializers.CharField()
    line = serializers.IntegerField()
    message = serializers.CharField()


class RanSerializer(serializers.Serializer[Any]):
    element = serializers.CharField()
    line = serializers.IntegerField()
    name = serializers.CharField()
    what = serializers.CharField()


class TranslatedSerializer(RanSerializer):
    before = serializers.CharField()
    after = serializers.CharField()


class DrawnSerializer(RanSerializer):
    why = serializers.CharField()


class ReportSerializer(serializers.Serializer[Any]):
    runs = RanSerializer(many=True)
    translated = TranslatedSerializer(many=True)
    drawn = DrawnSerializer(many=True)
    more = serializers.IntegerField(help_text=_("entries that are not listed, of all lists together"))


class FindingSerializer(serializers.Serializer[Any]):
    element = serializers.CharField()
    line = serializers.IntegerField()
    name = serializers.CharField()
    message = serializers.CharField()


class PublishedSerializer(RevisionKeySerializer):
    executable = serializers.BooleanField()
    shadow = serializers.BooleanField(help_text=_("whether it is on trial beside the current revision"))
    definitions = RevisionKeySerializer(many=True)
    report = ReportSerializer()
    problems = ProblemSerializer(many=True)
    warnings = FindingSerializer(many=True, help_text=_("what may be wrong with the file although it can run"))


class DefinitionSerializer(RevisionKeySerializer):
    name = serializers.CharField()
    enterprise = serializers.CharField(allow_null=True)


class DefinitionListSerializer(serializers.Serializer[Any]):
    results = DefinitionSerializer(many=True)
    next = serializers.URLField(allow_null=True)


class RevisionSerializer(RevisionKeySerializer):
    at = TimestampField()
    actor = serializers.CharField()
    executable = serializers.BooleanField()
    version_tag = serializers.CharField(
        allow_blank=True, help_text=_("what its author calls this version; definitions may call it by this")
    )


class RevisionListSerializer(serializers.Serializer[Any]):
    results = RevisionSerializer(many=True)
    next = serializers.URLField(allow_null=True)


class RevisionWithSourceSerializer(RevisionSerializer):
    source = serializers.CharField()  # type: ignore[assignment]
    report = ReportSerializer()
    problems = ProblemSerializer(many=True)


class FiguresQuery(serializers.Serializer[Any]):
    period = serializers.ChoiceField(
        [each.value for each in Period],
        default=Period.WEEK.value,
        help_text=_("the last 24 hours, 7 days or 30 days, or all that was ever counted"),
    )


class ElementFiguresSerializer(serializers.Serializer[Any]):
    element = serializers.CharField()
    name = serializers.CharField()
    entered = serializers.IntegerField(help_text=_("how often the element was entered"))
    stays = serializers.IntegerField(help_text=_("how many have left it"))
    mean_seconds = serializers.FloatField(allow_null=True, help_text=_("null: nothing has left it"))
    median_seconds = serializers.FloatField(allow_null=True, help_text=_("estimated; null: nothing has left it"))
    standing = serializers.IntegerField(help_text=_("how many stand there now, whatever the period"))


class FiguresSerializer(serializers.Serializer[Any]):
    key = serializers.CharField()
    revision = serializers.IntegerField()
    period = serializers.ChoiceField([each.value for each in Period])
    since = TimestampField(allow_null=True, help_text=_("null: nothing has been counted yet"))
    elements = ElementFiguresSerializer(many=True, help_text=_("those of which something is known"))


class ShadowExampleSerializer(serializers.Serializer[Any]):
    instance = serializers.UUIDField()
    version = serializers.IntegerField()
    at = TimestampField()
    first = serializers.BooleanField(help_text=_("whether this is the first difference of the instance"))
    live = serializers.CharField(help_text=_("what the instance did, as JSON text"))
    withheld = serializers.CharField(help_text=_("what it would have done, as JSON text"))


class ShadowDifferenceSerializer(serializers.Serializer[Any]):
    kind = serializers.ChoiceField(
        ["path", "variables", "effects", "work", "waits", "status", "incident", "counterpart", "error"]
    )
    place = serializers.CharField(help_text=_("an element or the name of a variable, empty for the whole instance"))
    instances = serializers.IntegerField()
    first_at = TimestampField()
    last_at = TimestampField()
    example = ShadowExampleSerializer(allow_null=True)


class ShadowSerializer(serializers.Serializer[Any]):
    key = serializers.CharField()
    revision = serializers.IntegerField()
    current = serializers.IntegerField(help_text=_("the revision whose instances are compared"))
    since = TimestampField()
    actor = serializers.CharField()
    overtaken = serializers.BooleanField(help_text=_("whether another revision was published since"))
    recording = serializers.BooleanField(help_text=_("false: too much waits to be compared, or nobody compares"))
    waiting = serializers.IntegerField(help_text=_("inputs that were not compared yet, at most 1,000"))
    behind_seconds = serializers.IntegerField()
    steps = serializers.IntegerField(help_text=_("inputs that were compared"))
    following = serializers.IntegerField(help_text=_("instances that are followed now"))
    equal = serializers.IntegerField(help_text=_("instances that have ended without a difference"))
    different = serializers.IntegerField(help_text=_("instances with a difference"))
    incomplete = serializers.IntegerField(help_text=_("instances that could not be followed to their end"))
    left_out = serializers.IntegerField(help_text=_("instances that were skipped, as the limit was reached"))
    differences = ShadowDifferenceSerializer(many=True)


class EndShadowBody(StrictSerializer):
    revision = serializers.IntegerField(required=False, min_value=1, max_value=LARGEST_NUMBER)


class EvaluateSerializer(StrictSerializer):
    variables = VariablesField(required=False)
    revision = serializers.IntegerField(required=False, min_value=1, max_value=LARGEST_NUMBER)


class MatchedRuleSerializer(serializers.Serializer[Any]):
    number = serializers.IntegerField()
    id = serializers.CharField()
    outputs = VariablesField()


class EvaluatedInputSerializer(serializers.Serializer[Any]):
    label = serializers.CharField()  # type: ignore[assignment]
    value = serializers.JSONField(allow_null=True)


class EvaluatedDecisionSerializer(serializers.Serializer[Any]):
    key = serializers.CharField()
    name = serializers.CharField()
    result = serializers.JSONField(allow_null=True)
    inputs = EvaluatedInputSerializer(many=True)
    rules = MatchedRuleSerializer(many=True)


class EvaluationSerializer(serializers.Serializer[Any]):
    key = serializers.CharField()
    revision = serializers.IntegerField()
    result = serializers.JSONField(allow_null=True)
    decisions = EvaluatedDecisionSerializer(many=True, help_text=_("in the order of their evaluation"))


class ScenariosBody(StrictSerializer):
    scenarios = serializers.ListField(child=serializers.DictField())


class ScenariosSerializer(serializers.Serializer[Any]):
    scenarios = serializers.ListField(child=serializers.DictField())
    saved_at = TimestampField(allow_null=True)
    actor = serializers.CharField()


class RehearsalBody(StrictSerializer):
    revision = serializers.IntegerField(required=False, min_value=1, max_value=LARGEST_NUMBER)


class ScenarioResultSerializer(serializers.Serializer[Any]):
    scenario = serializers.CharField()
    passed = serializers.BooleanField()
    failures = serializers.ListField(child=serializers.CharField())
    path = serializers.ListField(child=serializers.CharField())


class RehearsalSerializer(serializers.Serializer[Any]):
    revision = serializers.IntegerField()
    passed = serializers.BooleanField()
    results = ScenarioResultSerializer(many=True)
    uncovered = serializers.ListField(child=serializers.CharField())
