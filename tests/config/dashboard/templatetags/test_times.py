from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.template import engines
from django.utils import timezone
from django.utils.html import strip_tags
from django.utils.translation import override

from config.admin_base.times import ago_words
from config.dashboard.templatetags.times import ago, ahead

AT = datetime(2026, 3, 1, 21, 30, 15, 250_000, tzinfo=UTC)


class TestAgo:
    @pytest.mark.parametrize(
        ("passed", "words"),
        [(timedelta(seconds=20), "just now"), (timedelta(minutes=5, seconds=3), "5\xa0minutes ago")],
    )
    def test_says_how_long_ago(self, passed: timedelta, words: str) -> None:
        assert strip_tags(ago(timezone.now() - passed)) == words == ago_words(timezone.now() - passed)

    def test_in_russian(self) -> None:
        with override("ru"):
            assert ago_words(timezone.now() - timedelta(hours=2, seconds=3)) == "2\xa0часа назад"


class TestAhead:
    @pytest.mark.parametrize(
        ("left", "words"),
        [
            (timedelta(seconds=-5), "due now"),
            (timedelta(seconds=20.5), "in 20 s"),
            (timedelta(minutes=5, seconds=3), "in 5\xa0minutes"),
        ],
    )
    def test_says_how_far_it_is(self, left: timedelta, words: str) -> None:
        assert ahead(timezone.now() + left) == words


class TestFilters:
    @pytest.mark.parametrize(
        ("name", "text"),
        [("exact", "2 Mar 2026, 00:30:15 +03"), ("clock", "00:30:15"), ("clock_milliseconds", "00:30:15.250")],
    )
    def test_say_a_time_in_the_zone_of_the_viewer(self, name: str, text: str) -> None:
        with timezone.override("Europe/Minsk"):
            assert strip_tags(_render(f"{{{{ at|{name} }}}}", at=AT)) == text

    @pytest.mark.parametrize("name", ["exact", "clock", "clock_milliseconds", "ago"])
    def test_say_nothing_of_no_time(self, name: str) -> None:
        assert _render(f"{{{{ at|{name} }}}}", at=None) == ""


def _render(template: str, **values: Any) -> str:
    return engines["django"].from_string("{% load times %}" + template).render(values)
