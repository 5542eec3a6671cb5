"""The events of messages in words."""

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

EVENT_TITLES: dict[str, Promise] = {
    "message.received": _("Message received"),
    "message.requeued": _("Message put back into the queue"),
    "message.set_aside": _("Message set aside"),
    "message.brought_back": _("Message restored"),
}
