from datetime import UTC, datetime, timedelta

import pytest

from processes.workflows.engine.iso import Duration, NotIso, parse_cycle, parse_datetime, parse_duration


class TestParseDuration:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("PT30M", Duration(rest=timedelta(minutes=30))),
            ("P1Y2M3DT4H5M6.5S", Duration(months=14, rest=timedelta(days=3, hours=4, minutes=5, seconds=6.5))),
            ("P2W", Duration(rest=timedelta(weeks=2))),
            (" PT1,5H ", Duration(rest=timedelta(minutes=90))),
            ("PT0S", Duration()),
        ],
    )
    def test_reads_what_iso_writes(self, text: str, expected: Duration) -> None:
        assert parse_duration(text) == expected

    @pytest.mark.parametrize(
        "text",
        ["", "P", "PT", "P1DT", "-P1D", "P1H", "PT1D", "P1.5M", "1D", "PT5X", "P٣D", "P999999999W", "P1D" * 99],
    )
    def test_refuses_everything_else(self, text: str) -> None:
        with pytest.raises(NotIso):
            parse_duration(text)


class TestDurationAfter:
    @pytest.mark.parametrize(
        ("start", "text", "expected"),
        [
            (datetime(2023, 1, 31), "P1M", datetime(2023, 2, 28)),
            (datetime(2024, 2, 29), "P1Y", datetime(2025, 2, 28)),
            (datetime(2023, 12, 15), "P1M", datetime(2024, 1, 15)),
            (datetime(2024, 1, 31), "P1M1D", datetime(2024, 3, 1)),
            (datetime(2024, 2, 28), "PT24H", datetime(2024, 2, 29)),
        ],
    )
    def test_counts_months_by_the_calendar(self, start: datetime, text: str, expected: datetime) -> None:
        assert parse_duration(text).after(start) == expected

    @pytest.mark.parametrize("text", ["P99999Y", "P9000Y", "P99999M", "P999999999D"])
    def test_refuses_what_leads_beyond_the_calendar(self, text: str) -> None:
        with pytest.raises(NotIso, match="9999"):
            parse_duration(text).after(datetime(2024, 1, 1, tzinfo=UTC))


class TestParseDatetime:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("2030-01-31T08:00:00Z", datetime(2030, 1, 31, 8, tzinfo=UTC)),
            ("2030-01-31T08:00:00+03:00", datetime(2030, 1, 31, 5, tzinfo=UTC)),
            ("2030-01-31T08:00", datetime(2030, 1, 31, 8, tzinfo=UTC)),
            ("2030-01-31", datetime(2030, 1, 31, tzinfo=UTC)),
            ("20300131T080000.25Z", datetime(2030, 1, 31, 8, 0, 0, 250_000, tzinfo=UTC)),
        ],
    )
    def test_gives_utc(self, text: str, expected: datetime) -> None:
        moment = parse_datetime(text)
        assert (moment, moment.tzinfo) == (expected, UTC)

    @pytest.mark.parametrize(
        "text", ["", "now", "2030", "2030-02-30", "2030-01-01T25:00", "2030-W01-1", "0001-01-01T00:00+02:00", "12"]
    )
    def test_refuses_everything_else(self, text: str) -> None:
        with pytest.raises(NotIso):
            parse_datetime(text)


class TestParseCycle:
    def test_knows_how_often(self) -> None:
        assert (parse_cycle("R3/PT10M").count, parse_cycle("R/PT1H").count) == (3, None)

    def test_is_first_due_after_one_interval(self) -> None:
        now = datetime(2024, 1, 1, tzinfo=UTC)
        assert parse_cycle("R3/PT10M").first(now) == now + timedelta(minutes=10)

    def test_is_first_due_at_its_start_when_it_names_one(self) -> None:
        cycle = parse_cycle("R5/2030-01-01T08:00:00Z/P1D")
        assert cycle.first(datetime(2024, 1, 1, tzinfo=UTC)) == datetime(2030, 1, 1, 8, tzinfo=UTC)
        assert (cycle.text, cycle.interval) == ("P1D", Duration(rest=timedelta(days=1)))

    @pytest.mark.parametrize(
        "text",
        [
            "",
            "R",
            "R/",
            "R3",
            "PT10M",
            "R0/PT1H",
            "R/PT0S",
            "R/PT0.5S",
            "R-1/PT1H",
            "R/x/PT1H",
            "0 0 * *",
            "0 25 * * *",
        ],
    )
    def test_refuses_everything_else(self, text: str) -> None:
        with pytest.raises(NotIso):
            parse_cycle(text)
