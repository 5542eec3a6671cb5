import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import pytest
from asgiref.sync import sync_to_async

from config.common.web.limits.errors import Busy
from config.common.web.limits.processor import HEAVY_SLOTS, Processor
from config.common.web.limits.shares import Caller, Standing
from config.common.web.limits.slots import WAITING_PER_SLOT, Slots
from tests.config.common.web.limits.test_buckets import Clock

ANNE, BEN = Caller("anne", Standing.KNOWN), Caller("ben", Standing.KNOWN)
STRANGER = Caller("192.0.2.7", Standing.STRANGER)


def greedy(number: int) -> Caller:
    return Caller(f"greedy {number}", Standing.KNOWN)


@asynccontextmanager
async def held(slots: Slots, *callers: Caller) -> AsyncIterator[AsyncExitStack]:
    """Have these callers hold a slot each."""
    async with AsyncExitStack() as stack:
        for caller in callers:
            await stack.enter_async_context(slots.lend(caller))
        yield stack


async def use(slots: Slots, caller: Caller, log: list[str], name: str = "") -> None:
    async with slots.lend(caller):
        log.append(name or caller.name)


def taken_by_anne(clock: Clock) -> Processor:
    """A processor of which anne has had much lately, and ben some."""
    processor = Processor(clock)
    processor.note(ANNE, 1.0)
    processor.note(BEN, 0.1)
    return processor


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


class TestLend:
    async def test_runs_in_the_thread_of_the_slot(self) -> None:
        async with Slots(1, name="lane").lend(ANNE):
            assert await sync_to_async(lambda: threading.current_thread().name)() == "lane-0_0"

    async def test_whoever_finds_none_in_time_is_refused(self) -> None:
        slots = Slots(1, patience=0.02)
        async with held(slots, ANNE):
            with pytest.raises(Busy):
                async with slots.lend(BEN):
                    raise AssertionError("there was none")
        async with slots.lend(BEN):
            pass

    async def test_whoever_has_its_share_waits_while_there_are_free_ones_for_others(self) -> None:
        slots = Slots(8, patience=0.02)
        async with held(slots, ANNE, ANNE, ANNE):
            with pytest.raises(Busy):
                await use(slots, ANNE, [])
            await use(slots, BEN, [])

    async def test_the_next_gets_it_when_one_is_given_back(self) -> None:
        slots, log = Slots(1, patience=30), list[str]()
        async with held(slots, ANNE) as first:
            waiting = asyncio.ensure_future(use(slots, BEN, log))
            await settle()
            assert log == []
            await first.aclose()
            await waiting
        assert log == ["ben"]

    async def test_the_known_come_before_strangers(self) -> None:
        slots, log = Slots(1, patience=30), list[str]()
        async with held(slots, BEN):
            waiting = [asyncio.ensure_future(use(slots, caller, log)) for caller in (STRANGER, ANNE)]
            await settle()
        await asyncio.gather(*waiting)
        assert log == ["anne", STRANGER.name]

    async def test_callers_take_turns_however_many_of_their_calls_wait(self) -> None:
        slots, log = Slots(1, patience=30), list[str]()
        async with held(slots, greedy(1)):
            waiting = [asyncio.ensure_future(use(slots, caller, log)) for caller in (ANNE, ANNE, ANNE, BEN)]
            await settle()
        await asyncio.gather(*waiting)
        assert log == ["anne", "ben", "anne", "anne"]

    async def test_whoever_takes_much_of_the_processor_beside_others_has_few_at_once(self) -> None:
        processor = Processor()
        slots, log = Slots(12, patience=0.02, processor=processor), list[str]()
        async with held(slots, ANNE, ANNE):
            processor.note(ANNE, 1.0)
            await use(slots, ANNE, log)  # nobody else wants any of it
            processor.note(BEN, 0.1)
            with pytest.raises(Busy):
                await use(slots, ANNE, log)
            await use(slots, BEN, log)
        await use(slots, ANNE, log)
        assert log == ["anne", "ben", "anne"]
        assert HEAVY_SLOTS == 2

    async def test_and_the_next_of_its_calls_begins_when_one_of_them_has_ended(self) -> None:
        slots, log = Slots(12, processor=taken_by_anne(Clock())), list[str]()
        async with held(slots, ANNE, ANNE) as held_slots:
            waiting = asyncio.ensure_future(use(slots, ANNE, log))
            await settle()
            assert log == []
            await held_slots.aclose()
            await waiting
        assert log == ["anne"]

    async def test_a_later_one_does_not_overtake_it_though_it_may_begin_at_once(self) -> None:
        clock, log = Clock(), list[str]()
        slots = Slots(12, patience=30, processor=taken_by_anne(clock))
        async with held(slots, ANNE, ANNE):
            earlier = asyncio.ensure_future(use(slots, ANNE, log, "earlier"))
            await settle()
            clock.at += 1000
            later = asyncio.ensure_future(use(slots, ANNE, log, "later"))
            await settle()
        await asyncio.gather(earlier, later)
        assert log == ["earlier", "later"]

    async def test_a_slot_is_free_again_after_a_failure(self) -> None:
        slots = Slots(1, patience=0.02)
        for _ in range(3):
            with pytest.raises(ZeroDivisionError):
                async with slots.lend(ANNE):
                    raise ZeroDivisionError

    async def test_so_many_wait_and_no_more_than_their_share_of_the_places(self) -> None:
        slots, log = Slots(1, patience=30), list[str]()
        async with held(slots, BEN):
            waiting = [asyncio.ensure_future(use(slots, ANNE, log)) for _ in range(WAITING_PER_SLOT)]
            await settle()
            refused = [task for task in waiting if task.done()]
            assert len(refused) == WAITING_PER_SLOT - 3
            assert all(isinstance(task.exception(), Busy) for task in refused)
        await asyncio.gather(*waiting, return_exceptions=True)
        assert len(log) == 3

    async def test_for_ever_waits_past_all_patience_and_places(self) -> None:
        slots, log = Slots(1, patience=0.01), list[str]()

        async def wait() -> None:
            async with slots.lend(ANNE, ever=True):
                log.append("in")

        async with held(slots, BEN):
            waiting = [asyncio.ensure_future(wait()) for _ in range(2 * WAITING_PER_SLOT)]
            await asyncio.sleep(0.05)
            assert not any(task.done() for task in waiting)
        await asyncio.gather(*waiting)
        assert len(log) == len(waiting)


class TestGivingUp:
    async def test_of_one_that_waits_loses_no_slot(self) -> None:
        slots, log = Slots(1, patience=30), list[str]()
        async with held(slots, BEN):
            first, second = (asyncio.ensure_future(use(slots, ANNE, log)) for _ in range(2))
            await settle()
            first.cancel()
        await second
        assert log == ["anne"]
        await use(slots, BEN, log)

    async def test_of_one_that_waits_keeps_no_later_call_waiting(self) -> None:
        clock, log = Clock(), list[str]()
        slots = Slots(12, patience=0.02, processor=taken_by_anne(clock))
        async with held(slots, ANNE, ANNE):
            with pytest.raises(Busy):
                await use(slots, ANNE, log)
            clock.at += 1000
            await use(slots, ANNE, log)
        assert log == ["anne"]

    async def test_in_the_moment_in_which_it_is_lent_loses_none_either(self) -> None:
        slots, log = Slots(1, patience=30), list[str]()
        taken = held(slots, BEN)
        await taken.__aenter__()
        waiting = asyncio.ensure_future(use(slots, ANNE, log))
        await settle()
        await taken.__aexit__(None, None, None)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert log == []
        await asyncio.wait_for(use(slots, BEN, log), 60)
