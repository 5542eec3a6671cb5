"""Send an SMS about an alert by an HTTP gateway; without one it is only logged.

URL and body are templates with `{to}` and `{text}`; the values are encoded for the place they stand in, so that no text
can change the call.
"""

import json
import math
import re
from collections.abc import Callable
from typing import Any
from urllib.parse import quote
from xml.sax.saxutils import escape

import aiohttp
import structlog
from django.conf import settings
from yarl import URL

from config.common.database.leases import lease_clock
from config.common.text import clean_text
from notifications.sending.presentation import sms_text
from notifications.sending.webhook import Answer, ClaimLapsed, hold_requests

TIMEOUT_SECONDS = 10.0
ROOM_SECONDS = 5.0
"""What must be left of the lease after the longest call, to record what came of it."""
BODY_BYTES = 1024
JSON = "application/json"

_PLACE = re.compile(r"\{(to|text)\}")

log = structlog.get_logger(__name__)


async def send_sms(
    session: aiohttp.ClientSession, number: str, body: dict[str, Any], *, until: float = math.inf
) -> Answer:
    """Call the gateway; return what it answered, or why it did not.

    Raise `ClaimLapsed`, with nothing sent, if the lease could end before the call does.
    """
    began = lease_clock()
    if began + TIMEOUT_SECONDS + ROOM_SECONDS > until:
        raise ClaimLapsed
    hold_requests(until)
    text = sms_text(body)
    if not settings.SMS_URL:
        log.info("sms.console", to=number, text=text)
        return Answer(200, 0)
    try:
        return await _call(session, settings.SMS_URL, {"to": number, "text": text}, began)
    except (aiohttp.ClientError, OSError, ValueError) as error:
        # The URL may hold the key of the gateway.
        words = f"{type(error).__name__}: {error}".replace(settings.SMS_URL, "SMS_URL")
        return Answer(None, _milliseconds(began), "", words)


async def _call(session: aiohttp.ClientSession, url: str, values: dict[str, str], began: float) -> Answer:
    headers = {"content-type": JSON} | {name.lower(): value for name, value in settings.SMS_HEADERS.items()}
    sent = None
    if settings.SMS_METHOD == "GET":
        headers.pop("content-type")
    else:
        sent = fill_in(settings.SMS_BODY, values, _encoding(headers["content-type"])).encode()
    async with session.request(
        settings.SMS_METHOD,
        URL(fill_in(url, values, _percent), encoded=True),
        data=sent,
        headers=headers,
        # A redirect would carry the key of the gateway elsewhere.
        allow_redirects=False,
        timeout=aiohttp.ClientTimeout(total=TIMEOUT_SECONDS, ceil_threshold=math.inf),
    ) as response:
        head = await response.content.read(BODY_BYTES)
        return Answer(response.status, _milliseconds(began), clean_text(head))


def fill_in(template: str, values: dict[str, str], encode: Callable[[str], str]) -> str:
    """Replace the places by the encoded values, in one pass: a text that contains `{to}` stays as it is."""
    return _PLACE.sub(lambda place: encode(values[place[1]]), template)


def _encoding(content_type: str) -> Callable[[str], str]:
    kind = content_type.partition(";")[0].strip().lower()
    if kind == JSON or kind.endswith("+json"):
        return lambda value: json.dumps(value, ensure_ascii=False)[1:-1]
    if kind == "application/x-www-form-urlencoded":
        return _percent
    return escape if kind in ("text/xml", "application/xml") else str


def _percent(value: str) -> str:
    return quote(value, safe="")


def _milliseconds(began: float) -> int:
    return int((lease_clock() - began) * 1000)
