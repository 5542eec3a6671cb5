"""Filters of the list of messages, and its search."""

from collections.abc import Sequence
from typing import Any

from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from config.admin_base.theme import DropdownFilter
from messaging.models import Device, Enterprise, ExchangeDatabase, Message

Folder, Status = Message.Folder, Message.Status
# As the table's constraint has it.
FOLDERS_OF: dict[str, tuple[str, ...]] = {
    Status.WAITING: (Folder.MESSAGES,),
    Status.IN_PROCESS: (Folder.MESSAGES, Folder.PREPARED),
    Status.PROCESSED: (Folder.LOG,),
    Status.INCORRECT: (Folder.ERROR,),
    Status.IN_DOUBT: (Folder.UNKNOWN, Folder.ERROR),
}
DEVICES_FOUND = 50
SET_ASIDE = "set_aside"


class FolderFilter(DropdownFilter):
    title = _("folder")
    parameter_name = "folder"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return list(Folder.choices)

    def queryset(self, request: HttpRequest, queryset: QuerySet[Message]) -> QuerySet[Message]:
        chosen = self.value()
        return _in_folders(queryset, [chosen]) if chosen in Folder.values else queryset


class StatusFilter(DropdownFilter):
    title = _("status")
    parameter_name = "status"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [*Status.choices, (SET_ASIDE, _("set aside"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Message]) -> QuerySet[Message]:
        chosen = self.value()
        if chosen == SET_ASIDE:
            return queryset.filter(set_aside_at__isnull=False)
        if chosen not in Status.values:
            return queryset
        return _in_folders(queryset.filter(status=chosen), FOLDERS_OF[str(chosen)])


class DirectionFilter(DropdownFilter):
    title = _("direction")
    parameter_name = "direction"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return list(Message.Direction.choices)

    def queryset(self, request: HttpRequest, queryset: QuerySet[Message]) -> QuerySet[Message]:
        chosen = self.value()
        return queryset.filter(direction=chosen) if chosen in Message.Direction.values else queryset


def search_condition(text: str) -> Q:
    """Return the condition of a search: a message by its id, a device by its id or name, else the beginning of an id.

    The first that finds something counts. Each uses an index of its own; only the last may read further.
    """
    ids = Message.objects.filter(enterprise__in=Enterprise.objects.values("pk"), public_id=text)
    exact = list(ids.values_list("pk", flat=True))
    if exact:
        return Q(pk__in=exact)
    devices = Device.objects.filter(Q(pk=text) | Q(name__iexact=text))
    found = list(devices.values_list("pk", flat=True)[:DEVICES_FOUND])
    return Q(device__in=found) if found else Q(public_id__startswith=text)


def _in_folders(messages: QuerySet[Message], folders: Sequence[Any]) -> QuerySet[Message]:
    # The index of the folders begins with the database: with all of them named, a rare folder is found by it.
    return messages.filter(folder__in=folders, database__in=ExchangeDatabase.objects.values("pk"))
