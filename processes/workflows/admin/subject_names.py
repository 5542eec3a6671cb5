"""Name workflow instances on the pages and in the messages of notifications."""

from django.urls import reverse
from django.utils.translation import gettext

from notifications.names import Named, Names, register_names
from processes.workflows.subjects import PREFIX


def name_subject(subject: str) -> Named | None:
    """Return the name and page of an instance, also for the subject of one of its elements."""
    if not subject.startswith(PREFIX):
        return None
    instance = subject.removeprefix(PREFIX).partition("/")[0]
    page = reverse("admin:workflows_workflowinstance_change", args=[instance])
    return Named(gettext("workflow instance %(instance)s") % {"instance": instance}, page)


register_names(Names(name_subject))
