"""Name change sets, readers and roles on the pages of notifications."""

from collections.abc import Collection

from django.urls import reverse
from django.utils.translation import gettext

from notifications.names import Named, Names, numbers_of, parts_of, register_names
from processes.coordination.admin.presentation import ROLES
from processes.coordination.maintenance.audit import SUBJECT as AUDIT
from processes.coordination.protocol.transitions import RoleKind
from processes.coordination.subjects import EVENT_PREFIX, READER_PREFIX, subject_of


def name_subjects(subjects: Collection[str]) -> dict[str, Named]:
    change_sets = reverse("admin:coordination_appevent_changelist")
    found = {
        subject: Named(gettext("reader %(name)s") % {"name": name}, change_sets)
        for subject, name in parts_of(subjects, READER_PREFIX).items()
    }
    for subject, number in numbers_of(subjects, EVENT_PREFIX).items():
        page = reverse("admin:coordination_appevent_change", args=[number])
        found[subject] = Named(gettext("change set %(number)s") % {"number": number}, page)
    for role in (RoleKind.WRITER, RoleKind.COORDINATOR):
        if role in subjects:
            found[role] = Named(str(ROLES[role]), change_sets)
    if AUDIT in subjects:
        found[AUDIT] = Named(gettext("writer and readers"), change_sets)
    return found


def find_subject(text: str) -> str | None:
    return subject_of(int(text)) if text.isascii() and text.isdigit() else None


register_names(Names(name_subjects, find_subject=find_subject))
