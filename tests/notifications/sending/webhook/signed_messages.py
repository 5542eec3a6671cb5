"""A message that is signed with two secrets, and sent."""

from ipaddress import ip_network

import aiohttp

from notifications.sending.webhook import Answer, post_webhook

SECRET = "whsec_" + "QUJD" * 11
OLD_SECRET = "whsec_" + "REVG" * 11
BODY = b'{"version":1,"type":"ping","at":"2026-01-01T00:00:00.000Z"}'
LOOPBACK = [ip_network("127.0.0.0/8")]


async def send(session: aiohttp.ClientSession, url: str, *, timeout_seconds: float = 5) -> Answer:
    return await post_webhook(session, url, "msg_1", BODY, [SECRET, OLD_SECRET], timeout_seconds=timeout_seconds)
