from datetime import UTC, datetime, timedelta

import pytest

from processes.workflows.engine.cron import MAX_TEXT, NotCron, is_cron, parse_cron

NOW = datetime(2030, 1, 1, 12, 30, 15, tzinfo=UTC)  # a Tuesday


def after(text: str, time: datetime = NOW) -> str:
    return parse_cron(text).after(time).strftime("%Y-%m-%d %H:%M:%S")


class TestAfter:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("* * * * *", "2030-01-01 12:31:00"),
            ("0 8 * * *", "2030-01-02 08:00:00"),
            ("*/15 * * * *", "2030-01-01 12:45:00"),
            ("10,40 12-13 * * *", "2030-01-01 12:40:00"),
            ("0 0 1 * *", "2030-02-01 00:00:00"),
            ("0 0 * * 0", "2030-01-06 00:00:00"),
            ("0 0 * * 7", "2030-01-06 00:00:00"),
            ("0 0 * * MON", "2030-01-07 00:00:00"),
            ("0 0 * * FRI-MON", "2030-01-04 00:00:00"),
            ("0 0 29 2 *", "2032-02-29 00:00:00"),
            ("0 0 13 * 5", "2030-01-04 00:00:00"),
            ("*/20 * * * * ?", "2030-01-01 12:30:20"),
            ("0 0 8 ? * MON-FRI", "2030-01-02 08:00:00"),
            ("0 0 8 ? * 1", "2030-01-06 08:00:00"),
            ("0 0 8 1 JAN ? 2031", "2031-01-01 08:00:00"),
        ],
    )
    def test_is_the_next_time(self, text: str, expected: str) -> None:
        assert after(text) == expected

    def test_is_later_than_the_time_itself(self) -> None:
        exact = datetime(2030, 1, 1, 8, tzinfo=UTC)
        assert parse_cron("0 8 * * *").after(exact) == exact + timedelta(days=1)

    @pytest.mark.parametrize("text", ["0 0 31 2 *", "0 0 0 1 1 ? 1999"])
    def test_what_never_comes_is_refused(self, text: str) -> None:
        with pytest.raises(NotCron):
            parse_cron(text).after(NOW)


class TestParseCron:
    @pytest.mark.parametrize(
        "text",
        ["", "* * * *", "60 * * * *", "* 24 * * *", "* * 0 * *", "* * * 13 *", "*/0 * * * *", "0 0 L * *", "a b c d e"],
    )
    def test_refuses_everything_else(self, text: str) -> None:
        with pytest.raises(NotCron):
            parse_cron(text)

    def test_so_many_characters_are_taken_and_not_one_more(self) -> None:
        text = "0 8 * * 1-5"
        assert parse_cron(text.ljust(MAX_TEXT))
        with pytest.raises(NotCron):
            parse_cron(text.ljust(MAX_TEXT + 1))

    def test_is_told_from_iso(self) -> None:
        assert [is_cron(text) for text in ("0 8 * * *", "PT5M", "R/PT1H", "2030-01-01")] == [True, False, False, False]
