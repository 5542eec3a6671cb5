"""Send a mail about an alert by Django's backend: an SMTP server, or the console if none is configured."""

import asyncio
import hashlib
import math
import smtplib
from typing import Any

import msgspec
from django.conf import settings
from django.core.mail import EmailMessage, get_connection

from config.common.database.leases import lease_clock
from config.common.text import clean_text
from notifications.sending.presentation import mail_subject, mail_text
from notifications.sending.webhook import Answer, ClaimLapsed

ACCEPTED = 250
LONGEST_SECONDS = 20.0
"""For the whole conversation; the time-out of the settings is for each of its steps."""
LEAST_SECONDS = 5.0
"""One that has waited for a slot for so long that less is left is claimed anew."""
ROOM_SECONDS = 5.0
"""What must be left of the lease after the longest conversation, to record what came of it."""


async def send_mail(address: str, body: dict[str, Any], *, until: float = math.inf) -> Answer:
    """Send a mail in a thread; return what the mail server answered, or why it did not.

    The conversation is over before the lease is. Raise `ClaimLapsed`, with nothing sent, if that leaves little time.
    """
    began = lease_clock()
    latest = until - ROOM_SECONDS
    if latest < began + LEAST_SECONDS:
        raise ClaimLapsed
    deadline = min(began + LONGEST_SECONDS, latest)
    work = asyncio.to_thread(send_mail_blocking, address, body, deadline=deadline)
    try:
        # The thread ends by itself at the deadline, unless the name of the server is still being looked up: then it
        # finds its time over afterwards and sends nothing.
        return await asyncio.wait_for(work, deadline - began + 1)
    except TimeoutError:
        return _no_answer(began, deadline)


def send_mail_blocking(address: str, body: dict[str, Any], *, deadline: float = math.inf) -> Answer:
    """Send a mail from this thread, by the deadline or not at all."""
    began = lease_clock()
    deadline = min(deadline, began + LONGEST_SECONDS)
    try:
        _build_mail(address, body, deadline).send()
    # ValueError: an address or a header that no mail can have. OSError: no connection, no name, no certificate.
    except (smtplib.SMTPException, OSError, ValueError) as error:
        return _no_answer(began, deadline) if lease_clock() >= deadline else _failure(error, began)
    return Answer(ACCEPTED, _milliseconds(began))


def _build_mail(address: str, body: dict[str, Any], deadline: float) -> EmailMessage:
    """Build the mail; its id is the same when it is sent again, so that mailboxes recognize a repeat."""
    digest = hashlib.sha256(address.encode() + msgspec.json.encode(body, order="sorted")).hexdigest()[:32]
    headers = {"Message-ID": f"<{digest}@{settings.PUBLIC_URL.hostname}>", "Auto-Submitted": "auto-generated"}
    connection = get_connection(deadline=deadline)
    return EmailMessage(mail_subject(body), mail_text(body), to=[address], headers=headers, connection=connection)


def _no_answer(began: float, deadline: float) -> Answer:
    return Answer(None, _milliseconds(began), "", f"no answer within {round(deadline - began, 1):g} s")


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
    return int((lease_clock() - began) * 1000)
