import asyncio
from typing import Any

import pytest

from config.common.errors import TooLarge
from config.common.web.limits import bodies
from config.common.web.limits.bodies import MEMORY_PER_BODY, Body, HungUp, Spool
from config.common.web.limits.errors import BodyStalled, Busy
from config.common.web.limits.shares import Caller, Standing

ANNE, BEN = Caller("anne", Standing.KNOWN), Caller("ben", Standing.KNOWN)
LIMIT = 1_000_000


class Sender:
    """Sends chunks, each after a pause; then it is done, hangs up or says no more."""

    def __init__(self, *chunks: bytes, pause: float = 0.0, then: str = "ends") -> None:
        self.chunks, self._pause, self._then = list(chunks), pause, then

    async def __call__(self) -> Any:
        await asyncio.sleep(self._pause)
        if self.chunks:
            return {"type": "http.request", "body": self.chunks.pop(0), "more_body": True}
        if self._then == "stalls":
            await asyncio.Event().wait()
        if self._then == "hangs up":
            return {"type": "http.disconnect"}
        return {"type": "http.request", "body": b"", "more_body": False}


async def read(spool: Spool, sender: Sender, limit: int = LIMIT) -> Body:
    return await asyncio.wait_for(spool.read(sender, limit=limit, caller=ANNE), 60)


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
        spool = Spool(patience=0.3, rate=100 * MEMORY_PER_BODY, spool_rate=10 * MEMORY_PER_BODY)
        began = asyncio.get_running_loop().time()
        for body in await asyncio.gather(*(read(spool, Sender(*[b"x" * MEMORY_PER_BODY] * 3)) for _ in range(2))):
            body.close()
        assert asyncio.get_running_loop().time() - began > 0.5

    async def test_of_one_caller_come_at_its_rate_after_a_burst_and_nobody_else_waits_for_it(self) -> None:
        spool = Spool(body_rate=10 * MEMORY_PER_BODY, body_burst=3 * MEMORY_PER_BODY)
        assert await _time(spool, ANNE) < 0.2  # the burst
        assert await _time(spool, ANNE) > 0.25
        assert await _time(spool, BEN) < 0.2

    async def test_nor_is_the_time_for_which_it_waits_its_own_delay(self) -> None:
        spool = Spool(patience=1.0, rate=100 * MEMORY_PER_BODY, body_rate=2 * MEMORY_PER_BODY, body_burst=0)
        assert await _time(spool, ANNE) > 1.25

    async def test_of_strangers_come_at_one_rate_for_all(self) -> None:
        spool = Spool(body_rate=10 * MEMORY_PER_BODY, body_burst=3 * MEMORY_PER_BODY)
        strangers = [Caller(f"192.0.2.{number}", Standing.STRANGER) for number in range(2)]
        assert await _time(spool, strangers[0]) < 0.2
        assert await _time(spool, strangers[1]) > 0.25

    async def test_whoever_would_wait_for_long_is_refused(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(bodies, "PACE_PATIENCE", 0.05)
        spool = Spool(body_rate=10 * MEMORY_PER_BODY, body_burst=2 * MEMORY_PER_BODY)
        with pytest.raises(Busy):
            await _time(spool, ANNE)
        assert await _time(Spool(body_rate=10 * MEMORY_PER_BODY, body_burst=3 * MEMORY_PER_BODY), ANNE) < 0.2

    async def test_who_gives_up_while_waiting_owes_nothing(self) -> None:
        spool = Spool(body_rate=MEMORY_PER_BODY, body_burst=2 * MEMORY_PER_BODY)
        for _ in range(5):
            giving_up = asyncio.ensure_future(_time(spool, ANNE))
            await asyncio.sleep(0.02)
            giving_up.cancel()
        await asyncio.sleep(0.1)
        owed = spool._callers._next_at["anne"] - asyncio.get_running_loop().time()
        assert owed < 2.5, "the burst, and nothing of the five that were read no further"

    async def test_what_is_small_waits_for_nothing(self) -> None:
        spool = Spool(body_rate=1, body_burst=0)
        body = await read(spool, Sender(b"x" * MEMORY_PER_BODY))
        assert body.size == MEMORY_PER_BODY

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


class TestCheck:
    async def test_is_made_once_as_soon_as_a_body_is_large(self) -> None:
        checked = []

        async def check() -> None:
            checked.append(True)

        half = b"x" * (MEMORY_PER_BODY // 2)
        for chunks in ([half, half], [half] * 6):
            (await Spool().read(Sender(*chunks), limit=LIMIT, caller=ANNE, check=check)).close()
        assert checked == [True]

    async def test_the_time_that_it_takes_is_not_the_delay_of_the_sender(self) -> None:
        spool, sender = Spool(patience=0.5, rate=100 * MEMORY_PER_BODY), Sender(*[b"x" * MEMORY_PER_BODY] * 2)
        body = await spool.read(sender, limit=LIMIT, caller=ANNE, check=lambda: asyncio.sleep(0.7))
        assert body.size == 2 * MEMORY_PER_BODY
        body.close()

    async def test_what_it_refuses_is_not_read_any_further(self) -> None:
        async def check() -> None:
            raise Busy

        sender = Sender(*[b"x" * MEMORY_PER_BODY] * 10)
        with pytest.raises(Busy):
            await Spool().read(sender, limit=LIMIT, caller=ANNE, check=check)
        assert len(sender.chunks) == 8


class TestDiscard:
    async def test_reads_the_rest_of_a_refused_body_no_faster_than_one_that_is_kept(self) -> None:
        spool, sender = Spool(body_rate=10 * MEMORY_PER_BODY, body_burst=0), Sender(*[b"x" * MEMORY_PER_BODY] * 100)
        await spool.discard(sender)
        assert 85 <= len(sender.chunks) < 95, "a tenth of a second for each, and a second in all"


async def _time(spool: Spool, caller: Caller) -> float:
    """Return how long a large body takes that its sender sends at once."""
    began = asyncio.get_running_loop().time()
    (await spool.read(Sender(*[b"x" * MEMORY_PER_BODY] * 3), limit=LIMIT, caller=caller)).close()
    return asyncio.get_running_loop().time() - began


def _is_on_disk(body: Body) -> bool:
    try:
        body.file.fileno()
    except OSError:
        return False
    return True
