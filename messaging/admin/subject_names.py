"""Names and links of messages for the pages and texts of notifications."""

from django.urls import reverse
from django.utils.translation import gettext

from messaging.models import Message
from messaging.subjects import PREFIX
from notifications.names import Named, Names, register_names


def name_subject(subject: str) -> Named | None:
    if not subject.startswith(PREFIX):
        return None
    enterprise, _slash, public_id = subject.removeprefix(PREFIX).partition("/")
    found = Message.objects.filter(enterprise=enterprise, public_id=public_id).values_list("pk", flat=True).first()
    page = "" if found is None else reverse("admin:messaging_message_change", args=[found])
    return Named(gettext("message %(message)s") % {"message": public_id}, page)


register_names(Names(name_subject))
