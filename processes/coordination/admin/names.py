"""Name change sets and readers on the pages of notifications."""

from django.urls import reverse
from django.utils.translation import gettext

from notifications.names import Named, Names, register_names
from processes.coordination.admin.presentation import ROLES
from processes.coordination.protocol.transitions import RoleKind
from processes.coordination.subjects import EVENT_PREFIX, READER_PREFIX, subject_of


def name_subject(subject: str) -> Named | None:
    if subject.startswith(EVENT_PREFIX) and (number := subject.removeprefix(EVENT_PREFIX)).isdecimal():
        page = reverse("admin:coordination_appevent_change", args=[number])
        return Named(gettext("change set %(number)s") % {"number": number}, page)
    if subject.startswith(READER_PREFIX):
        page = reverse("admin:coordination_appevent_changelist")
        return Named(gettext("reader %(name)s") % {"name": subject.removeprefix(READER_PREFIX)}, page)
    if subject in (RoleKind.WRITER, RoleKind.COORDINATOR):
        return Named(str(ROLES[RoleKind(subject)]), reverse("admin:coordination_appevent_changelist"))
    return None


def find_subject(text: str) -> str | None:
    return subject_of(int(text)) if text.isascii() and text.isdigit() else None


register_names(Names(name_subject, find_subject=find_subject))
