from collections.abc import AsyncIterator

import aiohttp
import pytest

from notifications.sending.webhook import open_http_session
from tests.notifications.sending.hostile import Receiver
from tests.notifications.sending.webhook.signed_messages import LOOPBACK


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    made = Receiver()
    yield made
    made.close()


@pytest.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    async with open_http_session(LOOPBACK) as made:
        yield made
