"""Notices to one person by mail: deliveries of the family `NOTICE`, written in the transaction of what they tell."""

from typing import Any

from config.common.correlation import correlation_id
from config.common.text_templates import on_one_line
from notifications.models import Delivery, Endpoint
from notifications.services.deliveries import NewDelivery, enqueue_deliveries


def enqueue_notice(
    address: str, type: str, subject: str, title: str, detail: dict[str, Any], *, page: str, settings_page: str
) -> None:
    """Enqueue a mail. `title` is a source text of `gettext` that may name keys of `detail` as `%(name)s`."""
    body = {
        "version": 1,
        "type": type,
        "notice": True,
        "subject": subject,
        "title": on_one_line(title),
        "detail": detail,
        "page": page,
        "settings_page": settings_page,
    }
    family = Delivery.Family.NOTICE
    enqueue_deliveries([NewDelivery(_ensure_mailbox(address), type, family, subject, body, correlation_id())])


def _ensure_mailbox(address: str) -> int:
    """Return the endpoint of an address; one that was given up is tried again, for the person has just been named."""
    url = f"mailto:{address}"
    known = Endpoint.objects.filter(url=url).order_by("pk").first()
    if known is None:
        return Endpoint.objects.create(url=url, secret=b"").pk
    if not known.active:
        Endpoint.objects.filter(pk=known.pk).update(
            active=True, off_reason="", failures=0, opened_at=None, probe_at=None, not_before=None
        )
    return known.pk
