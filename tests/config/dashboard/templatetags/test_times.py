from datetime import timedelta

import pytest
from django.utils import timezone
from django.utils.translation import override

from config.dashboard.templatetags.times import ago


class TestAgo:
    @pytest.mark.parametrize(
        ("passed", "words"),
        [(timedelta(seconds=20), "just now"), (timedelta(minutes=5, seconds=3), "5\xa0minutes ago")],
    )
    def test_says_how_long_ago(self, passed: timedelta, words: str) -> None:
        assert ago(timezone.now() - passed) == words

    def test_in_russian(self) -> None:
        with override("ru"):
            assert ago(timezone.now() - timedelta(hours=2, seconds=3)) == "2\xa0часа назад"
