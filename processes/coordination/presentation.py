"""The events of change sets in words."""

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

EVENT_TITLES: dict[str, Promise] = {
    "coordination.committed": _("Change set committed"),
    "coordination.canceled": _("Change set cancelled"),
    "coordination.compensation_failed": _("Change set could not be undone"),
    "coordination.resolved": _("Change set resolved"),
}
