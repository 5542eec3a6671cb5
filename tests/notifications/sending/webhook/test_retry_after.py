from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from notifications.sending.webhook import RETRY_AFTER_SECONDS, parse_retry_after

DATE_PARTS = [
    "Thu,",
    "01",
    "99",
    "Jan",
    "2026",
    "0000",
    "-1",
    "00:01:30",
    "24:61:61",
    ":",
    "GMT",
    "-9999",
    "(",
    ",",
    ".",
]


class TestParseRetryAfter:
    AT = datetime(2026, 1, 1, tzinfo=UTC).timestamp()

    @pytest.mark.parametrize(
        ("value", "seconds"),
        [
            (None, None),
            ("", None),
            ("soon", None),
            ("-5", None),
            ("1.5", None),
            ("٣", None),
            ("0", 0),
            (" 30 ", 30),
            ("999999999", RETRY_AFTER_SECONDS),
            ("9" * 5000, RETRY_AFTER_SECONDS),
            ("Thu, 01 Jan 2026 00:01:30 GMT", 90),
            ("Thursday, 01-Jan-26 00:01:30 GMT", 90),
            ("Thu Jan  1 00:01:30 2026", 90),
            ("Thu, 01 Jan 2026 00:01:30 -0000", 90),
            ("Wed, 31 Dec 2025 23:59:59 GMT", 0),
            ("Fri, 01 Jan 2027 00:00:00 GMT", RETRY_AFTER_SECONDS),
            ("Thu, 01 Jan 99999999999999999999 00:00:00 GMT", None),
            ("Thu, 01 Jan 2026 00:01:30 +9999", None),
        ],
    )
    def test_seconds_dates_and_nonsense(self, value: str | None, seconds: float | None) -> None:
        assert parse_retry_after(value, at=self.AT) == seconds

    @given(st.one_of(st.text(), st.lists(st.sampled_from(DATE_PARTS)).map(" ".join)))
    def test_no_text_breaks_it(self, value: str) -> None:
        seconds = parse_retry_after(value, at=self.AT)
        assert seconds is None or 0 <= seconds <= RETRY_AFTER_SECONDS
