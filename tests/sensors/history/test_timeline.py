import pytest
from msgspec.structs import replace

from sensors.history import queries
from sensors.history.store import HistoryStore
from sensors.history.timeline import Cursor, Entry, Kind, Question, iterate_entries, read_entries
from sensors.history.values import Period
from tests.sensors.history.past_records import DAY, NOON, attempt, event, signal

pytestmark = pytest.mark.django_db

ALL = frozenset(Kind)
EVER = Period()


@pytest.fixture(autouse=True)
def _chosen(store: HistoryStore, db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queries, "get_store", lambda: store)


def read_all(asked: Question, *, limit: int) -> list[Entry]:
    """Walk through the pages as a reader does."""
    entries, behind = list[Entry](), Cursor()
    while True:
        page, following = read_entries(asked, behind=behind, limit=limit)
        entries += page
        if following is None:
            return entries
        assert following != behind, "each page goes on"
        behind = following


class TestReadEntries:
    @pytest.fixture(autouse=True)
    def _past(self, store: HistoryStore) -> None:
        """Ten minutes with a signal and its event in each, and an attempt in every second one."""
        store.add_signals([signal(n) for n in range(10)])
        store.add_events([event(n, id=n + 1) for n in range(10)])
        store.add_events([replace(attempt(n), id=100 + n) for n in range(0, 10, 2)])

    @pytest.mark.parametrize("limit", [1, 2, 3, 7, 25, 100])
    def test_pages_of_any_size_have_everything_once_newest_first(self, limit: int) -> None:
        found = read_all(Question(["0xA"], EVER, ALL), limit=limit)
        assert (len(found), len({(each.kind, each.at) for each in found})) == (25, 25)
        assert [each.at for each in found] == sorted((each.at for each in found), reverse=True)

    @pytest.mark.parametrize(("kind", "count"), [(Kind.SIGNAL, 10), (Kind.EVENT, 10), (Kind.NOTIFICATION, 5)])
    def test_one_kind_alone(self, kind: Kind, count: int) -> None:
        found = read_all(Question(["0xA"], EVER, frozenset({kind})), limit=4)
        assert [each.kind for each in found] == [kind] * count

    def test_a_period_has_its_start_and_not_its_end(self) -> None:
        period = Period(signal(3).at, signal(5).at)
        assert {each.at for each in read_all(Question(["0xA"], period, ALL), limit=4)} == {signal(3).at, signal(4).at}

    def test_notifications_to_others_are_left_out_and_the_list_goes_on(self, store: HistoryStore) -> None:
        mine = attempt(20)
        mine.payload["endpoint"] = 4
        store.add_events([replace(mine, id=200)])
        asked = Question(["0xA"], EVER, frozenset({Kind.NOTIFICATION}), endpoint=4)
        assert [each.at for each in read_all(asked, limit=2)] == [mine.at]

    def test_all_pages_are_all_there_is(self) -> None:
        pages = list(iterate_entries(Question(["0xA"], Period(NOON - DAY, NOON + DAY), ALL)))
        assert sum(map(len, pages)) == 25
