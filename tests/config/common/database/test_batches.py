from collections.abc import Sequence

import pytest
from django.db import DataError, OperationalError

from config.common.database import batches
from config.common.database.batches import DatabaseUnavailable, write_or_bisect, write_with_retries


class Table:
    """Takes a batch of numbers whole or not at all; knows what it cannot take."""

    def __init__(self, *bad: int, away_after: int = 1000) -> None:
        self.bad, self.away_after = bad, away_after
        self.rows: list[int] = []
        self.settled: list[tuple[int, str]] = []
        self.last: list[int] = []

    def write(self, items: Sequence[int], is_last: bool) -> int:
        if len(self.rows) >= self.away_after:
            raise DatabaseUnavailable
        for item in items:
            if item in self.bad:
                raise DataError(f"{item} is bad")
        self.rows += items
        self.last += items[-1:] if is_last else ()
        return len(items)

    def settle(self, item: int, error: Exception, is_last: bool) -> int:
        self.settled.append((item, str(error)))
        self.last += [item] if is_last else []
        return 0


class TestWriteInHalves:
    @pytest.mark.parametrize("bad", [(), (0,), (9,), (3, 4), tuple(range(10))])
    def test_all_but_the_culprits_are_written_in_order(self, bad: tuple[int, ...]) -> None:
        table = Table(*bad)
        parts = list(write_or_bisect(range(10), table.write, table.settle))
        assert table.rows == [item for item in range(10) if item not in bad]
        assert table.settled == [(item, f"{item} is bad") for item in bad]
        assert [item for part, _ in parts for item in part] == list(range(10))
        assert table.last == [9]

    def test_what_was_yielded_is_written_when_the_database_goes(self) -> None:
        table, written = Table(0, away_after=2), list[int]()

        def run() -> None:
            for part, _ in write_or_bisect(range(8), table.write, table.settle):
                written.extend(part)

        with pytest.raises(DatabaseUnavailable):
            run()
        assert written == [0, 1, 2, 3]
        assert table.settled == [(0, "0 is bad")]

    def test_an_error_that_comes_from_no_item_is_raised(self) -> None:
        table = Table(3)
        with pytest.raises(DataError):
            list(write_or_bisect(range(8), table.write, table.settle, is_of_item=lambda error: False))
        assert table.rows == []

    def test_nothing_is_written_as_nothing(self) -> None:
        table = Table()
        assert list(write_or_bisect([], table.write, table.settle)) == [([], 0)]


class TestWritePatiently:
    def test_repeats_what_met_another_transaction(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(batches, "database_answers", lambda: True)
        troubles = [OperationalError("deadlock detected")] * 2

        def write() -> str:
            if troubles:
                raise troubles.pop()
            return "written"

        assert write_with_retries(write) == "written"

    @pytest.mark.parametrize("answers", [True, False])
    def test_trouble_that_stays_is_the_databases(self, answers: bool, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(batches, "database_answers", lambda: answers)

        def write() -> None:
            raise OperationalError("disk full")

        with pytest.raises(DatabaseUnavailable):
            write_with_retries(write)

    def test_a_fault_of_the_data_is_raised_as_it_is(self) -> None:
        def write() -> None:
            raise DataError

        with pytest.raises(DataError):
            write_with_retries(write)
