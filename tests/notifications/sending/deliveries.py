"""Endpoints, deliveries and answers for the tests of sending."""

import base64
from datetime import timedelta
from typing import Any

from django.db.models.functions import Now
from django.utils import timezone

from config.common.encryption import encrypt
from notifications.models import Delivery, Endpoint
from notifications.sending.claims import Claim, Claimer
from notifications.sending.outcomes import Outcome, record_outcomes
from notifications.sending.webhook import Answer
from notifications.services.deliveries import NewDelivery, enqueue_deliveries

SECRET = "whsec_" + base64.b64encode(bytes(32)).decode()


def make_endpoint(url: str = "http://127.0.0.1:9/hook", **fields: Any) -> Endpoint:
    return Endpoint.objects.create(url=url, secret=encrypt(SECRET.encode()), **fields)


def enqueue_state(endpoint: Endpoint, subject: str = "thing/1", data: int = 1, **fields: Any) -> Delivery:
    """Enqueue a delivery about the state of something that no relevance check knows."""
    family = fields.pop("family", Delivery.Family.STATE)
    body = {"version": 1, "type": "thing.changed", "subject": subject, "data": data}
    new = NewDelivery(endpoint.pk, "thing.changed", family, subject, body, **fields)
    return Delivery.objects.get(pk=enqueue_deliveries([new])[0])


def claim(limit: int = 100) -> list[Claim]:
    return Claimer().claim(limit)


def answer(*claims: Claim, status: int | None = 200, error: str = "", retry_after: float | None = None) -> None:
    """Record the same answer for each of these attempts."""
    heard = Answer(status, 5, "", error, retry_after)
    record_outcomes([Outcome(each, timezone.now(), heard) for each in claims])


def make_due(*deliveries: Delivery) -> None:
    """Let the time of the next attempt come; what was under way has run out."""
    past = Now() - timedelta(seconds=1)
    rows = Delivery.objects.filter(pk__in=[each.pk for each in deliveries], status="pending")
    rows.update(due_at=past, under_way_until=None)
