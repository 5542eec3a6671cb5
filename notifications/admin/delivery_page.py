"""What the page of a delivery tells beside its fields: each attempt, and what was answered."""

from dataclasses import dataclass

from django.utils.safestring import SafeString
from django.utils.translation import gettext

from config.admin_base.pages import badge
from notifications.models import Attempt, Delivery
from notifications.selectors import attempts_of
from notifications.sending.policy import is_success

ROWS = 100


@dataclass(frozen=True)
class Entry:
    attempt: Attempt
    badge: SafeString


@dataclass(frozen=True)
class DeliveryPage:
    timeline: list[Entry]
    """The newest first."""


def build_delivery_page(delivery: Delivery) -> DeliveryPage:
    made = attempts_of([delivery.pk], since=delivery.created_at).order_by("-pk")[:ROWS]
    return DeliveryPage([Entry(attempt, _badge(attempt)) for attempt in made])


def _badge(attempt: Attempt) -> SafeString:
    if attempt.status is None:
        return badge(gettext("no answer"), "danger")
    return badge(str(attempt.status), "success" if is_success(attempt.status) else "danger")
