import itertools
from collections.abc import Iterator

import pytest

from config.common.web import streaming
from config.common.web.streaming import READ_AHEAD, stream


async def test_a_small_answer_is_read_where_the_view_runs_and_takes_no_other_turn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    turns: list[object] = []
    monkeypatch.setattr(streaming, "sync_to_async", lambda read: turns.append)
    chunks = iter([b"a", b"b", b"c"])
    answer = stream(chunks)
    assert list(chunks) == []
    assert [piece async for piece in answer] == [b"abc"]
    assert turns == []


async def test_of_a_large_one_the_rest_is_read_as_the_caller_takes_it() -> None:
    chunks = itertools.count()
    answer = stream(b"%032d" % number for number in chunks)
    assert next(chunks) == READ_AHEAD // 32
    pieces = aiter(answer)
    assert len(await anext(pieces)) == READ_AHEAD
    assert await anext(pieces) == b"%032d" % (READ_AHEAD // 32 + 1)


@pytest.mark.parametrize("taken", [0, 1])
async def test_whoever_hangs_up_before_the_end_is_told_of_even_if_all_was_read(taken: int) -> None:
    cuts: list[str] = []
    answer = stream(iter([b"small"]), lambda: cuts.append("cut"))
    pieces = aiter(answer)
    for _ in range(taken):
        await anext(pieces)
    answer.close()
    assert cuts == ["cut"]


async def test_an_answer_that_was_sent_whole_is_not_cut() -> None:
    cuts: list[str] = []
    answer = stream(iter([b"small"]), lambda: cuts.append("cut"))
    assert [piece async for piece in answer] == [b"small"]
    answer.close()
    assert cuts == []


def test_what_fails_at_once_fails_in_the_view_and_is_cut() -> None:
    """The caller gets an error instead of half an answer."""
    cuts: list[str] = []

    def chunks() -> Iterator[bytes]:
        yield b"begin"
        raise OSError("gone")

    with pytest.raises(OSError, match="gone"):
        stream(chunks(), lambda: cuts.append("cut"))
    assert cuts == ["cut"]
