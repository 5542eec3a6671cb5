"""Name exchange processes on the pages and in the messages of notifications."""

from django.urls import reverse
from django.utils.translation import gettext

from notifications.names import Named, Names, register_names
from processes.exchange.subjects import PREFIX


def name_subject(subject: str) -> Named | None:
    if not subject.startswith(PREFIX):
        return None
    process = subject.removeprefix(PREFIX)
    page = reverse("admin:exchange_exchangeprocess_change", args=[process])
    return Named(gettext("exchange process %(process)s") % {"process": process}, page)


register_names(Names(name_subject))
