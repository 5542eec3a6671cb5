from sensors.history.values import format_many, format_milliseconds

TIMES = [1_769_903_999_000, 1_769_903_999_999, 1_769_904_000_000, 0, 1_769_904_000_001, 59_999, 60_000]


class TestFormat:
    def test_writes_the_milliseconds_in_utc(self) -> None:
        assert format_milliseconds(TIMES[1]) == "2026-01-31T23:59:59.999Z"

    def test_many_at_once_are_the_same_as_each(self) -> None:
        assert format_many(TIMES) == [format_milliseconds(at) for at in TIMES]
