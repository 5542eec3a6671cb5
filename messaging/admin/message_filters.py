"""What the list of messages is narrowed by, and how one is found by what a person types."""

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
        wanted = self.value()
        return _in_folders(queryset, [wanted]) if wanted in Folder.values else queryset


class StatusFilter(DropdownFilter):
    title = _("status")
    parameter_name = "status"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [*Status.choices, (SET_ASIDE, _("set aside"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Message]) -> QuerySet[Message]:
        wanted = self.value()
        if wanted == SET_ASIDE:
            return queryset.filter(set_aside_at__isnull=False)
        if wanted not in Status.values:
            return queryset
        return _in_folders(queryset.filter(status=wanted), FOLDERS_OF[str(wanted)])


class DirectionFilter(DropdownFilter):
    title = _("direction")
    parameter_name = "direction"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return list(Message.Direction.choices)

    def queryset(self, request: HttpRequest, queryset: QuerySet[Message]) -> QuerySet[Message]:
        wanted = self.value()
        return queryset.filter(direction=wanted) if wanted in Message.Direction.values else queryset


def matching(text: str) -> Q:
    """Find a message by its id, a device by its id or name, else messages whose id begins so; the first that succeeds.

    Each is asked for by an index of its own; only the beginning of an id may mean reading further.
    """
    ids = Message.objects.filter(enterprise__in=Enterprise.objects.values("pk"), public_id=text)
    exact = list(ids.values_list("pk", flat=True))
    if exact:
        return Q(pk__in=exact)
    devices = Device.objects.filter(Q(pk=text) | Q(name__iexact=text))
    found = list(devices.values_list("pk", flat=True)[:DEVICES_FOUND])
    return Q(device__in=found) if found else Q(public_id__startswith=text)


def _in_folders(messages: QuerySet[Message], folders: Sequence[Any]) -> QuerySet[Message]:
    """The index of the folders begins with the database: with all of them named, a rare folder is found by it."""
    return messages.filter(folder__in=folders, database__in=ExchangeDatabase.objects.values("pk"))
