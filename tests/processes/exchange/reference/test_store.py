import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from processes.exchange.reference.store import STORE_ERRORS, Store, is_deadlock
from tests.processes.exchange.reference.erp_and_server import schema_of_its_own


@pytest.fixture(params=["sqlite", "postgresql"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "sqlite":
        yield str(tmp_path / "erp.sqlite3")
        return
    with schema_of_its_own(request.getfixturevalue("servers").database) as schema:
        yield schema


@pytest.fixture
def stores(address: str) -> Iterator[tuple[Store, Store]]:
    first, second = Store(address), Store(address)
    yield first, second
    first.close()
    second.close()


class TestWasCommitted:
    @pytest.mark.parametrize("ending", ["commit", "rollback"])
    def test_it_waits_for_a_transaction_that_is_still_under_way(self, stores: tuple[Store, Store], ending: str) -> None:
        under_way, asking = stores
        under_way.begin()
        under_way.record_process("p1")
        answers: list[bool] = []
        thread = threading.Thread(target=lambda: answers.append(asking.was_committed("p1")))
        thread.start()
        thread.join(0.3)
        assert answers == []
        getattr(under_way, ending)()
        thread.join(60)
        assert answers == [ending == "commit"]

    def test_after_no_the_transaction_can_no_longer_commit(self, stores: tuple[Store, Store]) -> None:
        late, asking = stores
        assert not asking.was_committed("p1")
        late.begin()
        with pytest.raises(STORE_ERRORS):
            late.record_process("p1")
        late.rollback()
        assert not asking.was_committed("p1")

    def test_after_no_the_process_is_not_named_as_committed(self, stores: tuple[Store, Store]) -> None:
        stores[0].was_committed("p1")
        assert stores[0].committed_untold() == []


class TestUnsettled:
    def test_an_attempt_survives_and_belongs_to_its_worker(self, address: str) -> None:
        store = Store(address)
        store.record_attempt("p1", "shop")
        store.close()
        again = Store(address)
        assert (again.unsettled("shop"), again.unsettled("other")) == (["p1"], [])
        again.mark_settled(["p1"], "DONE")
        assert again.unsettled("shop") == []
        again.close()


class TestIsDeadlock:
    def test_a_real_deadlock_is_recognised(self, servers: object, request: pytest.FixtureRequest) -> None:
        with schema_of_its_own(request.getfixturevalue("servers").database) as schema:
            first, second = Store(schema), Store(schema)
            first.execute("CREATE TABLE account AS SELECT 1 AS id UNION SELECT 2")
            errors: list[Exception] = []
            for store, id in ((first, 1), (second, 2)):
                store.begin()
                store.execute("UPDATE account SET id = id WHERE id = ?", id)
            threads = [
                threading.Thread(target=_update, args=(store, id, errors)) for store, id in ((first, 2), (second, 1))
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                # The loser rolls back, which lets the other go on; closed before that, it would open a connection anew.
                thread.join(30)
            first.close()
            second.close()
        assert is_deadlock(errors[0])

    def test_a_locked_file_is_recognised(self, tmp_path: Path) -> None:
        first, second = Store(str(tmp_path / "a")), Store(str(tmp_path / "a"))
        second.execute("PRAGMA busy_timeout = 1")
        first.begin()
        with pytest.raises(STORE_ERRORS) as caught:
            second.begin()
        assert is_deadlock(caught.value)
        first.close()
        second.close()


def _update(store: Store, id: int, errors: list[Exception]) -> None:
    try:
        store.execute("UPDATE account SET id = id WHERE id = ?", id)
    except STORE_ERRORS as error:
        errors.append(error)
        store.rollback()
