from datetime import UTC, datetime

import pytest
from rest_framework.exceptions import ValidationError

from config.common.times import format_time, parse_time
from config.common.web.serializers import TimestampField


class TestParseMoment:
    @pytest.mark.parametrize(
        "text",
        [
            "2026-01-31T23:59:59.123999Z",
            "2026-01-31t23:59:59.123z",
            "2026-02-01T02:59:59.123456789+03:00",
            "2026-01-31 20:59:59.123-03:00",
        ],
    )
    def test_becomes_utc_cut_to_milliseconds(self, text: str) -> None:
        assert parse_time(text) == datetime(2026, 1, 31, 23, 59, 59, 123_000, tzinfo=UTC)

    @pytest.mark.parametrize(
        "text",
        [
            "2026-01-31T23:59:59",
            "2026-01-31",
            "20260131T235959Z",
            "2026-W05-6T00:00:00Z",
            "2026-02-30T00:00:00Z",
            "2026-01-31T24:00:00Z",
            "2026-01-31T23:59:59+0300",
            "0001-01-01T00:00:00+03:00",
            "9999-12-31T23:59:59-03:00",
            "0000-01-01T00:00:00Z",
            "2026-01-31T23:59:59Z\n",
            "２０２６-01-31T23:59:59Z",
            "",
        ],
    )
    def test_anything_else_is_refused(self, text: str) -> None:
        with pytest.raises(ValueError):  # noqa: PT011 (the field below gives the words)
            parse_time(text)

    def test_returns_what_was_written(self) -> None:
        assert format_time(parse_time("2026-01-31T23:59:59.120Z")) == "2026-01-31T23:59:59.120Z"


class TestMomentField:
    @pytest.mark.parametrize("value", [5, None, True, [], "soon", 1.5])
    def test_refuses_with_an_example(self, value: object) -> None:
        with pytest.raises(ValidationError, match=r"2026-01-31T23:59:59.000Z|may not be null"):
            TimestampField().run_validation(value)
