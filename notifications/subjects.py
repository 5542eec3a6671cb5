"""Subjects of this app's alerts and events: what each kind of row is called in the columns `subject`."""

from config.common.text import clean_text


def alert_subject(alert_id: int) -> str:
    return f"alert/{alert_id}"


def delivery_subject(delivery_id: int) -> str:
    return f"delivery/{delivery_id}"


def endpoint_subject(endpoint_id: int) -> str:
    return f"endpoint/{endpoint_id}"


def queue_subject(queue: str) -> str:
    return clean_text(f"queue/{queue}", 120)


def session_subject(session_id: int) -> str:
    return f"session/{session_id}"


def theme_subject(number: int) -> str:
    return f"theme/{number}"
