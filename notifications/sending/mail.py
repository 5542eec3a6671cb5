"""Send a mail about an alert by Django's backend: an SMTP server, or the console if none is configured."""

import asyncio
import hashlib
import smtplib
import time
from typing import Any

import msgspec
from django.conf import settings
from django.core.mail import EmailMessage

from config.common.text import clean_text
from notifications.sending.presentation import mail_subject, mail_text
from notifications.sending.webhook import Answer

ACCEPTED = 250
LONGEST_SECONDS = 30.0
"""For the whole conversation; the time-out of the settings is for each of its steps."""


async def send_mail(address: str, body: dict[str, Any]) -> Answer:
    """Send a mail in a thread; return what the mail server answered, or why it did not."""
    began = time.monotonic()
    try:
        return await asyncio.wait_for(asyncio.to_thread(send_mail_blocking, address, body), LONGEST_SECONDS)
    except TimeoutError:
        return Answer(None, _milliseconds(began), "", f"no answer within {LONGEST_SECONDS:g} s")


def send_mail_blocking(address: str, body: dict[str, Any]) -> Answer:
    """Send a mail from this thread."""
    began = time.monotonic()
    try:
        _build_mail(address, body).send()
    # ValueError: an address or a header that no mail can have. OSError: no connection, no name, no certificate.
    except (smtplib.SMTPException, OSError, ValueError) as error:
        return _failure(error, began)
    return Answer(ACCEPTED, _milliseconds(began))


def _build_mail(address: str, body: dict[str, Any]) -> EmailMessage:
    """Build the mail; its id is the same when it is sent again, so that mailboxes recognize a repeat."""
    digest = hashlib.sha256(address.encode() + msgspec.json.encode(body, order="sorted")).hexdigest()[:32]
    headers = {"Message-ID": f"<{digest}@{settings.PUBLIC_URL.hostname}>", "Auto-Submitted": "auto-generated"}
    return EmailMessage(mail_subject(body), mail_text(body), to=[address], headers=headers)


def _failure(error: Exception, began: float) -> Answer:
    status, words = None, f"{type(error).__name__}: {error}"
    if isinstance(error, smtplib.SMTPRecipientsRefused):
        status, text = next(iter(error.recipients.values()))
        words = clean_text(text)
    elif isinstance(error, smtplib.SMTPResponseException):
        status, words = error.smtp_code, clean_text(error.smtp_error)
    if status is not None and not 400 <= status < 600:
        status = None  # smtplib has codes of its own for a server that says nothing sensible
    return Answer(status, _milliseconds(began), "", words)


def _milliseconds(began: float) -> int:
    return int((time.monotonic() - began) * 1000)
