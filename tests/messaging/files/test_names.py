from datetime import UTC, datetime, timedelta, timezone

import pytest

from messaging.files.names import FileName, name_of, parse_name
from tests.messaging.files.message_rows import AT, row

NAME = "20260131T235959123Z_m1_phone_erp_sales.json"

pytestmark = pytest.mark.embedded


class TestNameOf:
    def test_request_goes_from_device_to_database(self) -> None:
        assert name_of(row()) == NAME

    def test_reply_goes_from_database_to_device(self) -> None:
        assert name_of(row(direction="reply")) == "20260131T235959123Z_m1_erp_phone_sales.json"

    def test_time_is_in_utc_whatever_the_rows_zone(self) -> None:
        elsewhere = AT.astimezone(timezone(timedelta(hours=3)))
        assert name_of(row(created_at=elsewhere)) == NAME

    def test_longest_is_within_the_limit(self) -> None:
        longest = row("x" * 36, database_id="d" * 36, device_id="e" * 36, subsystem_id="s" * 36)
        assert len(name_of(longest)) <= 180


class TestParseName:
    @pytest.mark.parametrize("at", [AT, datetime(2020, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, tzinfo=UTC)])
    def test_reads_what_was_written(self, at: datetime) -> None:
        name = FileName(at, "m-1", "A", "9", "-")
        assert parse_name(str(name)) == name

    @pytest.mark.parametrize(
        "text",
        [
            "",
            ".draft-0123",
            NAME + "\n",
            " " + NAME,
            "x/" + NAME,
            NAME.replace(".json", ".JSON"),
            NAME.replace(".json", ""),
            NAME.replace("_m1_", "_m_1_"),
            NAME.replace("_m1_", "__"),
            NAME.replace("_m1_", f"_{'x' * 37}_"),
            NAME.replace("_m1_", "_ä_"),
            NAME.replace("_m1_", "_..._"),
            NAME.replace("20260131", "20260231"),
            NAME.replace("T235959", "T246060"),
            NAME.replace("20260131", "٢٠٢٦٠١٣١"),
            NAME.replace("123Z", "12Z"),
        ],
    )
    def test_anything_else_is_foreign(self, text: str) -> None:
        assert parse_name(text) is None
