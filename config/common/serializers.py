"""What the serializers of every app share."""

from collections.abc import Collection
from functools import cached_property
from heapq import nsmallest
from typing import Any

from django.utils.translation import gettext
from rest_framework import serializers

from config.common.fields import FAULTS_NAMED


class StrictSerializer(serializers.Serializer[Any]):
    """Names a field that cannot be written, instead of passing over a slip of the pen.

    What can only be read may be repeated as it is now, so that an answer can be sent back: a view that changes
    something gives `context["present"]`, a function that returns what is there as a mapping.
    """

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, dict):
            self._refuse_unknown(data.keys() - self.fields.keys())
            rules = {name: self._rule(name, data[name]) for name in sorted(data)}
            faults = {name: [rule] for name, rule in rules.items() if rule}
            if faults:
                raise serializers.ValidationError(faults)
        return super().to_internal_value(data)

    def _refuse_unknown(self, names: Collection[str]) -> None:
        """Name the first of them; a body may hold a hundred thousand."""
        if names:
            rule = gettext("There is no such field.")
            raise serializers.ValidationError({name: [rule] for name in nsmallest(FAULTS_NAMED, names)})

    def _rule(self, name: str, sent: Any) -> str:
        """Return the rule that a field breaks by being sent at all, or nothing."""
        if not self.fields[name].read_only or self._is_unchanged(name, sent):
            return ""
        return gettext("This field can only be read.")

    def _is_unchanged(self, name: str, sent: Any) -> bool:
        if name not in self._present:
            return False
        now = self._present[name]
        if sent is None or now is None:
            return sent is now
        field = self.fields[name]
        try:  # a time can be written in several ways
            return bool(field.to_internal_value(sent) == field.to_internal_value(now))
        except serializers.ValidationError:
            return False

    @cached_property
    def _present(self) -> dict[str, Any]:
        read = self.context.get("present") if self.root is self else None
        return dict(read()) if read else {}
