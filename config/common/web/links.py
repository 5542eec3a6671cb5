"""Addresses that people outside the browser are given: in mails, in text messages, in answers to calls."""

from django.conf import settings


def absolute_url(path: str) -> str:
    """Return the public address of a page; of none, none."""
    return settings.PUBLIC_URL.geturl().rstrip("/") + path if path else ""
