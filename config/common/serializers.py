"""What the serializers of every app share."""

from typing import Any

from django.utils.translation import gettext
from rest_framework import serializers


class StrictSerializer(serializers.Serializer[Any]):
    """Names a field that it does not know, instead of passing over a slip of the pen."""

    def to_internal_value(self, data: Any) -> Any:
        unknown = sorted(set(data) - set(self.fields)) if isinstance(data, dict) else []
        if unknown:
            raise serializers.ValidationError({name: [gettext("There is no such field.")] for name in unknown})
        return super().to_internal_value(data)
