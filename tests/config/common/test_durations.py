from datetime import UTC, datetime, timedelta

import pytest
from django.utils.translation import override

from config.common.durations import say_ago, say_length

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)


class TestSayLength:
    @pytest.mark.parametrize(
        ("length", "english", "russian"),
        [
            (timedelta(seconds=59), "59 s", "59 с"),
            (timedelta(minutes=1), "1 minute", "1 минуту"),
            (timedelta(minutes=3), "3 minutes", "3 минуты"),
            (timedelta(hours=5, minutes=7), "5 hours", "5 часов"),
            (timedelta(days=7), "1 week", "1 неделю"),
            (timedelta(days=-1), "0 s", "0 с"),
        ],
    )
    def test_stands_in_the_case_of_its_sentence(self, length: timedelta, english: str, russian: str) -> None:
        assert say_length(length).replace("\xa0", " ") == english
        with override("ru"):
            assert say_length(length).replace("\xa0", " ") == russian


class TestSayAgo:
    def test_the_last_minute_is_just_now(self) -> None:
        assert say_ago(NOON - timedelta(seconds=59), NOON) == "just now"

    def test_before_it_is_said_how_long_ago(self) -> None:
        at = NOON - timedelta(days=1, hours=2)
        assert say_ago(at, NOON).replace("\xa0", " ") == "1 day ago"
        with override("ru"):
            assert say_ago(NOON - timedelta(minutes=1), NOON).replace("\xa0", " ") == "1 минуту назад"
            assert say_ago(at, NOON, depth=2).replace("\xa0", " ") == "1 день, 2 часа назад"
