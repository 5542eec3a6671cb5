import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection, connections, transaction

from processes.coordination.models import AppEvent, WriterState
from processes.coordination.writer import positions
from processes.coordination.writer.positions import assign_positions_once
from tests.processes.coordination.in_memory_roles import item

pytestmark = [pytest.mark.django_db, pytest.mark.embedded]


def number() -> None:
    while assign_positions_once():
        pass


def list_positions() -> list[int | None]:
    """Return the positions in the order of the events."""
    return list(AppEvent.objects.order_by("pk").values_list("position", flat=True))


class TestNumberOnce:
    def test_gives_positions_without_gaps_in_the_order_of_the_ids(self) -> None:
        for _ in range(3):
            item("a")
        AppEvent.objects.order_by("pk")[1].delete()
        number()
        item("b")
        number()
        assert list_positions() == [1, 2, 3]

    def test_says_whether_there_was_anything(self) -> None:
        assert not assign_positions_once()
        item("a")
        assert assign_positions_once()
        assert not assign_positions_once()

    def test_goes_on_where_it_stopped(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(positions, "BATCH", 2)
        for _ in range(5):
            item("a")
        number()
        assert list_positions() == [1, 2, 3, 4, 5]
        assert WriterState.objects.get().position == 5

    def test_gives_no_position_without_keeping_the_mark(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """It dies between the two."""
        item("a")

        def die(*args: Any, **kwargs: Any) -> None:
            assert list_positions() == [1]
            raise RuntimeError

        monkeypatch.setattr(WriterState, "save", die)
        with pytest.raises(RuntimeError):
            assign_positions_once()
        assert list_positions() == [None]
        monkeypatch.undo()
        number()
        assert list_positions() == [1]
        assert WriterState.objects.get().position == 1

    @pytest.mark.django_db(transaction=True)
    def test_two_at_once_give_each_position_once(self, in_threads: Callable[..., list[Any]]) -> None:
        def make_and_number(_: int) -> None:
            for _ in range(4):
                item("a")
                number()

        in_threads(make_and_number, 3)
        number()
        assert sorted(position or 0 for position in list_positions()) == list(range(1, 13))
        assert WriterState.objects.get().position == 12

    @pytest.mark.django_db(transaction=True)
    @pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has one writer at a time")
    def test_what_commits_late_is_numbered_late(self) -> None:
        is_written, may_commit = threading.Event(), threading.Event()

        def commit_late() -> None:
            try:
                with transaction.atomic():
                    item("late")
                    is_written.set()
                    assert may_commit.wait(60)
            finally:
                connections.close_all()

        late = threading.Thread(target=commit_late)
        late.start()
        assert is_written.wait(60)
        item("early")
        number()
        may_commit.set()
        late.join()
        number()
        assert list_positions() == [2, 1]
