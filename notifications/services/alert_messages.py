"""What those whom the ladder names are told of an alert: rows of the same deliveries that webhooks are."""

from collections.abc import Iterable
from typing import Any

from config.common.moments import format_moment
from notifications.models import Alert, Delivery
from notifications.naming import page_of_subject
from notifications.services.deliveries import Owed, owe

RAISED, CLOSED = "alert.raised", "alert.closed"


def owe_alert(alert: Alert, type: str, endpoint_ids: Iterable[int]) -> None:
    """Owe a message about an alert to these endpoints, while its row is locked."""
    subject, body = f"alert/{alert.pk}", _body(alert, type)
    owe(
        [
            Owed(endpoint_id, type, Delivery.Family.ALERT, subject, body, alert.correlation_id)
            for endpoint_id in endpoint_ids
        ]
    )


def owe_to_those_told(alert: Alert, type: str) -> None:
    told = Delivery.objects.filter(subject=f"alert/{alert.pk}", type=RAISED).order_by("endpoint_id")
    owe_alert(alert, type, list(told.values_list("endpoint_id", flat=True).distinct()))


def _body(alert: Alert, type: str) -> dict[str, Any]:
    """All that the text needs: it is worded when it is sent."""
    at = alert.resolved_at if type == CLOSED else alert.last_at
    return {
        "version": 1,
        "type": type,
        "id": alert.pk,
        "kind": alert.kind,
        "subject": alert.subject,
        "page": page_of_subject(alert.subject),
        "title": alert.title,
        "detail": alert.detail,
        "count": alert.count,
        "first_at": format_moment(alert.first_at),
        "at": None if at is None else format_moment(at),
        "note": alert.resolution if type == CLOSED else "",
    }
