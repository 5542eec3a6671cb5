import pytest
from django_celery_beat.models import CrontabSchedule

from config.admin_base.cron_words import describe


class TestDescribe:
    @pytest.mark.parametrize(
        ("fields", "words"),
        [
            ({"minute": "7"}, "every hour at minute 7"),
            ({"minute": "5", "hour": "3"}, "every day at 03:05 UTC"),
            ({"minute": "*/5"}, "*/5 * * * * UTC"),
            ({"minute": "0", "hour": "1,13"}, "0 1,13 * * * UTC"),
            ({"minute": "0", "hour": "1", "day_of_week": "1"}, "0 1 * * 1 UTC"),
        ],
    )
    def test_uses_words_where_they_are_shorter(self, fields: dict[str, str], words: str) -> None:
        assert describe(CrontabSchedule(timezone="UTC", **fields)) == words
