from typing import Any
from uuid import UUID

import pytest
from django.db.models.expressions import RawSQL
from django.utils.translation import gettext_lazy as _

from config.admin_base import search as search_module
from config.admin_base.search import (
    LONGEST,
    LOOK_SECONDS,
    MOST,
    SEARCH_SECONDS,
    Found,
    Rank,
    SearchHit,
    SearchSource,
    SearchText,
    look_through,
    register_search_source,
    search,
)
from sensors.models import Sensor
from tests.sensors.registry import make_sensor

FOREVER = "(WITH RECURSIVE n(i) AS (SELECT CAST(1 AS bigint) UNION ALL SELECT i + 1 FROM n) SELECT count(i) FROM n)"


@pytest.fixture
def _no_sources(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_module, "_sources", [])


def register(title: Any, *, rank: Rank = Rank.WORK, permission: str = "any", exact: bool = False) -> list[SearchText]:
    """Register a source that finds whatever it is asked for; return what it is asked."""
    asked: list[SearchText] = []

    def find(text: SearchText, most: int) -> Found:
        asked.append(text)
        return Found([SearchHit(f"{title} {n}", "", "/", is_exact=exact) for n in range(most)])

    register_search_source(SearchSource(title, "bolt", permission, rank, find))
    return asked


@pytest.mark.usefixtures("_no_sources")
class TestSearch:
    def test_groups_of_a_rank_before_those_of_the_next_and_exact_ones_first(self) -> None:
        register(_("Events"), rank=Rank.NOTIFICATIONS)
        register(_("Sensors"), rank=Rank.REGISTRY)
        register(_("Clients"), rank=Rank.RECORDS, exact=True)
        assert [group.title for group in search("text", may=bool)] == ["Clients", "Sensors", "Events"]

    def test_who_may_not_see_a_kind_is_not_answered_from_it(self) -> None:
        asked = register(_("Events"), permission="events")
        assert search("text", may="sensors".__eq__) == []
        assert not asked

    def test_nothing_is_asked_for_nothing(self) -> None:
        asked = register(_("Events"))
        assert search(" \t ", may=bool) == []
        assert not asked

    def test_what_is_longer_is_cut(self) -> None:
        asked = register(_("Events"))
        search("x" * (LONGEST + 1), may=bool)
        assert [len(text.text) for text in asked] == [LONGEST]

    def test_there_are_at_most_so_many_of_a_kind(self) -> None:
        register(_("Events"))
        assert [len(group.found.hits) for group in search("text", may=bool)] == [MOST]

    @pytest.mark.embedded
    @pytest.mark.django_db
    def test_a_look_through_a_table_ends_with_its_time(self) -> None:
        make_sensor("A1")
        endless = Sensor.objects.annotate(number=RawSQL(FOREVER, [])).filter(number__gt=0)
        assert look_through(endless, MOST) == ([], False)

    @pytest.mark.embedded
    @pytest.mark.django_db
    def test_all_sources_together_look_no_longer_than_a_search_may(self, monkeypatch: pytest.MonkeyPatch) -> None:
        make_sensor("A1")
        given: list[float] = []

        def look(rows: Any, seconds: float) -> tuple[list[Any], bool]:
            given.append(seconds)
            clock[0] += seconds
            return [], False

        def look_at_sensors(text: SearchText, most: int) -> Found:
            _rows, is_whole = look_through(Sensor.objects.all(), most)
            return Found([], is_whole)

        clock = [100.0]
        monkeypatch.setattr("config.admin_base.search.time.monotonic", lambda: clock[0])
        monkeypatch.setattr(search_module, "read_within", look)
        for title in ("Sensors", "Clients", "Devices"):
            register_search_source(SearchSource(_(title), "bolt", "any", Rank.WORK, look_at_sensors))
        assert [group.found for group in search("text", may=bool)] == [Found([], is_whole=False)] * 3
        # The first one leaves something; nothing is left for the last.
        assert given == [pytest.approx(LOOK_SECONDS), pytest.approx(SEARCH_SECONDS - LOOK_SECONDS)]
        look_through(Sensor.objects.all(), MOST)
        assert given[2:] == [LOOK_SECONDS]


class TestSearchText:
    @pytest.mark.parametrize(
        ("text", "number"),
        [
            ("17", 17),
            ("#17", 17),
            ("0", None),
            ("-1", None),
            ("1e3", None),
            ("٣", None),
            (str(2**63), None),
            ("", None),
        ],
    )
    def test_a_number_is_that_of_a_row(self, text: str, number: int | None) -> None:
        assert SearchText(text).number == number

    @pytest.mark.parametrize("text", ["0197a0b0", "0197A0B0-12", "0197a0b0-1234-7000-8000-000000000000"])
    def test_a_beginning_of_a_uuid_is_a_range(self, text: str) -> None:
        bounds = SearchText(text).uuid_range
        assert bounds is not None
        assert bounds[0] <= UUID("0197a0b0-1234-7000-8000-000000000000") <= bounds[1]

    @pytest.mark.parametrize("text", ["0197a0b", "0197a0bg", "0" * 33, "order-seven"])
    def test_other_texts_are_none(self, text: str) -> None:
        assert SearchText(text).uuid_range is None

    def test_an_id_is_tried_as_typed_first(self) -> None:
        assert SearchText("aB").spellings == ["aB", "AB", "ab", "Ab"]
        assert SearchText("17").spellings == ["17"]
