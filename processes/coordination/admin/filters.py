"""The filters of the list of change sets, and its search."""

from typing import Any

from django.db.models import Exists, OuterRef, QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from config.admin_base.theme import DropdownFilter
from processes.coordination.admin.presentation import STATUSES, format_entity
from processes.coordination.models import AppEvent, WriterEventReader
from processes.coordination.protocol.statuses import EventStatus
from processes.coordination.schema.entities import BY_NAME, ENTITIES, Op, type_number
from processes.coordination.schema.routing import reader_names
from processes.coordination.selectors import ENDED, UNDER_WAY, events_in_status
from processes.coordination.subjects import EVENT_PREFIX


class StatusFilter(DropdownFilter):
    """Filters by the status that the column shows, which is made of the rows of more than one role."""

    title = _("status")
    parameter_name = "status"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [("live", _("in progress")), *((str(status.value), words) for status, words in STATUSES.items())]

    def queryset(self, request: HttpRequest, queryset: QuerySet[AppEvent]) -> QuerySet[AppEvent]:
        chosen = self.value()
        if chosen == "live":
            return queryset.filter(app_event_status_id__in=UNDER_WAY)
        status = next((each for each in STATUSES if str(each.value) == chosen), None)
        if status is None:
            return queryset
        if status in ENDED:  # without the detour, so that the index gives them in their order
            return queryset.filter(app_event_status_id=status.value)
        return queryset.filter(pk__in=events_in_status(status).order_by().values("pk"))


class EntityFilter(DropdownFilter):
    title = _("type")
    parameter_name = "entity"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [(entity.name, format_entity(entity.name)) for entity in ENTITIES]

    def queryset(self, request: HttpRequest, queryset: QuerySet[AppEvent]) -> QuerySet[AppEvent]:
        entity = BY_NAME.get(self.value() or "")
        if entity is None:
            return queryset
        return queryset.filter(app_event_type_id__in=[type_number(entity, op) for op in Op])


class RefusedFilter(DropdownFilter):
    title = _("refused by")
    parameter_name = "refused"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [(name, name) for name in reader_names()]

    def queryset(self, request: HttpRequest, queryset: QuerySet[AppEvent]) -> QuerySet[AppEvent]:
        if self.value() not in reader_names():
            return queryset
        refusing = WriterEventReader.objects.filter(writer_event=OuterRef("pk"), name=self.value()).exclude(reason="")
        # What is committed nobody refuses: so an index leads to the few others.
        others = [status.value for status in EventStatus if status != EventStatus.COMMITTED]
        return queryset.filter(Exists(refusing), app_event_status_id__in=others)


def find_events(queryset: QuerySet[AppEvent], text: str) -> QuerySet[AppEvent]:
    """Find a change set by its number, also as alerts write it, else those of a correlation id."""
    number = text.removeprefix(EVENT_PREFIX)
    if number.isascii() and number.isdigit() and (named := queryset.filter(pk=int(number))).exists():
        return named
    return queryset.filter(correlation_id=text)
