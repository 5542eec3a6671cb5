import asyncio
from typing import Any

import pytest

from config.common.errors import TooLarge
from config.common.web.limits import bodies
from config.common.web.limits.bodies import MEMORY_PER_BODY, Body, HungUp, Spool
from config.common.web.limits.errors import BodyStalled, Busy
from config.common.web.limits.shares import Caller, Standing

ANNE = Caller("anne", Standing.KNOWN)
LIMIT = 1_000_000


class Sender:
    """Sends chunks, each after a pause; then it is done, hangs up or says no more."""

    def __init__(self, *chunks: bytes, pause: float = 0.0, then: str = "ends") -> None:
        self._chunks, self._pause, self._then = list(chunks), pause, then

    async def __call__(self) -> Any:
        if self._pause:
            await asyncio.sleep(self._pause)
        if self._chunks:
            return {"type": "http.request", "body": self._chunks.pop(0), "more_body": True}
        if self._then == "stalls":
            await asyncio.Event().wait()
        if self._then == "hangs up":
            return {"type": "http.disconnect"}
        return {"type": "http.request", "body": b"", "more_body": False}


async def read(spool: Spool, sender: Sender, limit: int = LIMIT) -> Body:
    return await asyncio.wait_for(spool.read(sender, limit=limit, caller=ANNE), 10)


class TestRead:
    async def test_gives_the_whole_from_its_beginning(self) -> None:
        body = await read(Spool(), Sender(b"ab", b"", b"c"))
        assert (body.size, body.file.read()) == (3, b"abc")

    async def test_what_is_large_lies_in_a_file(self) -> None:
        half = b"x" * (MEMORY_PER_BODY // 2)
        small, large = await read(Spool(), Sender(half, half)), await read(Spool(), Sender(half, half, b"y"))
        assert not _is_on_disk(small)
        assert _is_on_disk(large)
        assert large.file.read() == half + half + b"y"
        large.close()

    async def test_takes_a_body_of_the_limit_and_not_a_byte_more(self) -> None:
        await read(Spool(), Sender(b"12345"), limit=5)
        with pytest.raises(TooLarge):
            await read(Spool(), Sender(b"12345", b"6"), limit=5)

    async def test_a_caller_that_hangs_up_is_answered_by_nobody(self) -> None:
        with pytest.raises(HungUp):
            await read(Spool(), Sender(b"123", then="hangs up"))


class TestPace:
    async def test_a_body_that_stalls_is_given_up(self) -> None:
        with pytest.raises(BodyStalled):
            await read(Spool(patience=0.05), Sender(b"123", then="stalls"))

    async def test_drops_do_not_buy_more_time_than_they_are_worth(self) -> None:
        dripping = Sender(*[b"x"] * 1000, pause=0.02)
        with pytest.raises(BodyStalled):
            await read(Spool(patience=0.2, rate=1000), dripping)

    async def test_one_that_keeps_up_its_rate_may_take_longer_than_the_first_patience(self) -> None:
        steady = Sender(*[b"x" * 1000] * 20, pause=0.02)
        body = await read(Spool(patience=0.2, rate=1000), steady)
        assert body.size == 20_000

    async def test_none_takes_longer_than_the_longest(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(bodies, "LONGEST_BODY", 0.1)
        with pytest.raises(BodyStalled):
            await read(Spool(patience=0.2, rate=1), Sender(*[b"x" * 1000] * 100, pause=0.02))


class TestFiles:
    async def test_are_written_no_faster_than_the_disk_can_bear_and_nobody_is_blamed_for_it(self) -> None:
        spool = Spool(patience=0.1, rate=100 * MEMORY_PER_BODY, spool_rate=10 * MEMORY_PER_BODY)
        began = asyncio.get_running_loop().time()
        for body in await asyncio.gather(*(read(spool, Sender(*[b"x" * MEMORY_PER_BODY] * 3)) for _ in range(2))):
            body.close()
        assert asyncio.get_running_loop().time() - began > 0.5

    async def test_of_one_caller_are_within_its_share(self) -> None:
        spool, chunk = Spool(spooled=4 * MEMORY_PER_BODY), b"x" * (MEMORY_PER_BODY + 1)
        first = await read(spool, Sender(chunk))
        with pytest.raises(Busy):
            await read(spool, Sender(chunk))
        first.close()
        (await read(spool, Sender(chunk))).close()

    async def test_a_body_that_is_refused_leaves_nothing_behind(self) -> None:
        spool, chunk = Spool(spooled=4 * MEMORY_PER_BODY), b"x" * (MEMORY_PER_BODY + 1)
        for _ in range(5):
            with pytest.raises(HungUp):
                await read(spool, Sender(chunk, then="hangs up"))
        (await read(spool, Sender(chunk))).close()


def _is_on_disk(body: Body) -> bool:
    try:
        body.file.fileno()
    except OSError:
        return False
    return True
