from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone

from config.admin_base.times import ago_element, format_local, length_element, time_element

pytestmark = pytest.mark.embedded
AT = datetime(2026, 3, 1, 21, 30, 15, tzinfo=UTC)
LAST = datetime(9999, 12, 31, 23, 30, tzinfo=UTC)


class TestTimeElement:
    def test_has_the_time_of_the_viewer_and_utc_for_the_pointer(self) -> None:
        with timezone.override("Europe/Minsk"):
            assert time_element(AT) == (
                '<time datetime="2026-03-01T21:30:15.000Z" title="2026-03-01 21:30:15 UTC">'
                "2 Mar 2026, 00:30:15 +03</time>"
            )

    def test_in_words_keeps_both_times_for_the_pointer(self) -> None:
        with timezone.override("Europe/Minsk"):
            assert 'title="2 Mar 2026, 00:30:15 +03 · 2026-03-01 21:30:15 UTC">tonight<' in time_element(AT, "tonight")

    def test_says_utc_once(self) -> None:
        assert 'title="2026-03-01 21:30:15 UTC">tonight<' in time_element(AT, "tonight")

    def test_escapes_its_words(self) -> None:
        assert "<b>" not in time_element(AT, "<b>")

    @pytest.mark.parametrize("element", [time_element, ago_element, length_element])
    def test_is_a_dash_without_a_time(self, element: object) -> None:
        assert callable(element)
        assert element(None) == "–"


class TestFormatLocal:
    def test_knows_the_last_hours_of_the_last_year(self) -> None:
        with timezone.override("Asia/Tokyo"):
            assert format_local(LAST) == "9999-12-31T23:30:00.000Z"


class TestLengthElement:
    def test_says_how_long_and_not_how_long_ago(self) -> None:
        assert ">5\xa0minutes<" in length_element(timezone.now() - timedelta(minutes=5, seconds=2))
        assert ">just now<" in length_element(timezone.now())
