"""The events of exchange processes in words, and what an ERP reports of a message."""

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

EVENT_TITLES: dict[str, Promise] = {
    "exchange.started": _("Exchange started"),
    "exchange.done": _("Exchange finished"),
    "exchange.failed": _("Exchange failed"),
    "exchange.in_doubt": _("Exchange in doubt"),
}
RESULTS: dict[str, Promise] = {
    "PROCESSED_INCORRECT": _("incorrect"),
    "PROCESSED_DEADLOCK": _("deadlock"),
}


def say_result(result: str) -> str:
    return str(RESULTS.get(result, result))
