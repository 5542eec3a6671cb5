"""Send one delivery to its endpoint: a webhook, a mailbox or a telephone."""

import math
from dataclasses import dataclass

import aiohttp
import msgspec
from django.conf import settings

from config.common.database.leases import lease_clock
from config.common.encryption import Undecipherable
from notifications.sending.claims import Claim
from notifications.sending.mail import send_mail
from notifications.sending.sms import send_sms
from notifications.sending.webhook import Answer, ClaimLapsed, LeasedRequest, open_http_session, post_webhook


@dataclass(frozen=True)
class HttpSessions:
    """The HTTP sessions of a sender: webhooks pass the guard; the SMS gateway does not, operators configure it."""

    webhooks: aiohttp.ClientSession
    gateway: aiohttp.ClientSession

    async def close(self) -> None:
        await self.webhooks.close()
        await self.gateway.close()


def open_http_sessions() -> HttpSessions:
    gateway = aiohttp.ClientSession(request_class=LeasedRequest, trust_env=False)
    return HttpSessions(open_http_session(settings.WEBHOOK_ALLOWED_NETWORKS), gateway)


async def send(sessions: HttpSessions, claim: Claim, *, until: float = math.inf) -> Answer:
    """Make the attempt and return the answer, also of a failure. Raise `ClaimLapsed` if the lease has ended."""
    scheme, _, address = claim.url.partition(":")
    if lease_clock() >= until:
        raise ClaimLapsed
    if scheme == "mailto":
        return await send_mail(address, msgspec.json.decode(claim.body), until=until)
    if scheme == "sms":
        return await send_sms(sessions.gateway, address, msgspec.json.decode(claim.body), until=until)
    try:
        secrets = claim.secrets()
    except Undecipherable as error:
        return Answer(None, 0, "", f"cannot be signed: {error.__doc__}", None)
    return await post_webhook(
        sessions.webhooks,
        claim.url,
        claim.webhook_id,
        claim.body.encode(),
        secrets,
        correlation_id=claim.correlation_id,
        until=until,
    )
