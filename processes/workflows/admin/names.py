"""Name workflow instances on the pages and in the messages of notifications."""

from django.urls import reverse
from django.utils.translation import gettext

from notifications.names import Named, Names, register_names
from processes.workflows.ids import subject_of

PREFIX = subject_of("")


def name_subject(subject: str) -> Named | None:
    """Lead to the instance, also from one of its elements."""
    if not subject.startswith(PREFIX):
        return None
    instance = subject.removeprefix(PREFIX).partition("/")[0]
    page = reverse("admin:workflows_workflowinstance_change", args=[instance])
    return Named(gettext("workflow instance %(instance)s") % {"instance": instance}, page)


register_names(Names(name_subject))
