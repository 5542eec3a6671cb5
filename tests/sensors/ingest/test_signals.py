import json
from typing import Any

import pytest

from config.common.times import from_milliseconds
from sensors.ingest.signals import AHEAD, MAX_BODY, Code, Origin, Rejection, Signal, read_signals

NOW = 1_800_000_000_123
AT = "2027-01-15T08:00:00.123Z"
REST = Origin(received_at=NOW, over_rest=True)
AMQP = Origin(received_at=NOW, message_id="m1", timestamp=NOW // 1000 - 5)


def read(body: Any, origin: Origin = REST) -> list[Signal | Rejection]:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return read_signals(raw, origin)


class TestReadSignals:
    def test_takes_one_and_many(self) -> None:
        one = {"sensor_id": "0xA", "data": 1, "at": AT, "id": "a"}
        assert read(one) == [Signal("0xA", NOW, "a", 1, NOW)]
        assert read([one, {**one, "data": 0, "id": "b"}])[1] == Signal("0xA", NOW, "b", 0, NOW)

    def test_without_a_time_it_is_the_time_of_receipt_and_the_id_is_ordered_by_time(self) -> None:
        first, second = read([{"sensor_id": "a", "data": 0}, {"sensor_id": "a", "data": 1}])
        assert isinstance(first, Signal)
        assert isinstance(second, Signal)
        assert first.at == NOW
        assert first.id < second.id

    def test_cuts_times_to_milliseconds_in_utc(self) -> None:
        (signal,) = read({"sensor_id": "a", "data": 0, "at": "2027-01-15T11:00:00.123999+03:00", "id": "x"})
        assert signal == Signal("a", NOW, "x", 0, NOW)

    @pytest.mark.parametrize(
        ("item", "code"),
        [
            ({"sensor_id": "a", "data": True}, Code.BAD_DATA),
            ({"sensor_id": "a", "data": 1.0}, Code.BAD_DATA),
            ({"sensor_id": "a", "data": "1"}, Code.BAD_DATA),
            ({"sensor_id": "a", "data": 2}, Code.BAD_DATA),
            ({"sensor_id": "a", "data": None}, Code.BAD_DATA),
            ({"sensor_id": "a", "data": [0]}, Code.BAD_DATA),
            ({"sensor_id": "a"}, Code.BAD_DATA),
            ({"sensor_id": "a", "data": 1, "at": "yesterday"}, Code.BAD_TIME),
            ({"sensor_id": "a", "data": 1, "at": "2027-01-15T08:00:00"}, Code.BAD_TIME),
            ({"sensor_id": "a", "data": 1, "at": 5}, Code.BAD_TIME),
            ({"sensor_id": "a", "data": 1, "at": "1969-07-20T20:17:00Z"}, Code.BAD_TIME),
            ({"sensor_id": "a", "data": 1, "at": "2019-12-31T23:59:59.999Z"}, Code.BAD_TIME),
            ({"sensor_id": "a", "data": 1, "at": "0001-01-01T00:00:00+14:00"}, Code.BAD_TIME),
            ({"sensor_id": "a", "data": 1, "id": "x"}, Code.BAD_TIME),
            ({"sensor_id": "a", "data": 1, "at": "2200-01-01T00:00:00Z"}, Code.FROM_THE_FUTURE),
            ({"sensor_id": "a", "data": 1, "at": AT, "id": ""}, Code.BAD_SHAPE),
            ({"sensor_id": "a", "data": 1, "at": AT, "id": "x" * 65}, Code.BAD_SHAPE),
            ({"sensor_id": "a", "data": 1, "at": AT, "id": "a b"}, Code.BAD_SHAPE),
            ({"sensor_id": "a", "data": 1, "at": AT, "id": 7}, Code.BAD_SHAPE),
            ({"sensor_id": "a-b", "data": 1}, Code.UNKNOWN_SENSOR),
            ({"sensor_id": "x" * 17, "data": 1}, Code.UNKNOWN_SENSOR),
            ({"sensor_id": "дверь", "data": 1}, Code.UNKNOWN_SENSOR),
            ({"sensor_id": "a\x00", "data": 1}, Code.UNKNOWN_SENSOR),
            ({"sensor_id": 5, "data": 1}, Code.BAD_SHAPE),
            ({"data": 1}, Code.BAD_SHAPE),
            (5, Code.BAD_SHAPE),
            (None, Code.BAD_SHAPE),
            ("a", Code.BAD_SHAPE),
        ],
    )
    def test_names_what_is_wrong_and_keeps_the_rest(self, item: Any, code: Code) -> None:
        good = {"sensor_id": "b", "data": 0}
        results = read([good, item, good])
        assert isinstance(results[1], Rejection)
        assert (results[1].index, results[1].code) == (1, code)
        assert [type(result) for result in results] == [Signal, Rejection, Signal]

    @pytest.mark.parametrize("body", [b"", b"{", b"\xff\xfe", b'{"sensor_id":"a","data":NaN}', b"[" * 100_000])
    def test_broken_json_is_one_refusal(self, body: bytes) -> None:
        (result,) = read(body)
        assert isinstance(result, Rejection)
        assert result.code == Code.BAD_JSON

    def test_keeps_the_first_kilobyte_of_the_text(self) -> None:
        (result,) = read({"sensor_id": "a", "data": "x" * 5000})
        assert isinstance(result, Rejection)
        assert len(result.raw) == 1024
        assert result.sensor_id == "a"

    def test_a_list_of_more_than_a_thousand_is_refused_whole(self) -> None:
        (result,) = read([{"sensor_id": "a", "data": 1}] * 1001)
        assert isinstance(result, Rejection)
        assert result.code == Code.BAD_SHAPE

    def test_more_than_five_minutes_ahead_is_refused(self) -> None:
        times = (from_milliseconds(NOW + AHEAD), from_milliseconds(NOW + AHEAD + 1))
        taken, refused = read([{"sensor_id": "a", "data": 1, "at": at.isoformat(), "id": "x"} for at in times])
        assert isinstance(taken, Signal)
        assert isinstance(refused, Rejection)
        assert refused.code == Code.FROM_THE_FUTURE


class TestOverAmqp:
    def test_the_message_gives_id_and_time_where_the_body_has_none(self) -> None:
        assert read({"sensor_id": "a", "data": 1}, AMQP) == [Signal("a", (NOW // 1000 - 5) * 1000, "m1", 1, NOW)]

    def test_in_a_list_the_place_is_part_of_the_id(self) -> None:
        results = read([{"sensor_id": "a", "data": 1}, {"sensor_id": "a", "data": 0, "id": "own"}], AMQP)
        assert [result.id for result in results if isinstance(result, Signal)] == ["m1:0", "own"]

    def test_a_message_over_256_kib_is_refused(self) -> None:
        body = b'{"sensor_id":"a","data":1}'.ljust(MAX_BODY)
        assert isinstance(read(body, AMQP)[0], Signal)
        (result,) = read(body + b" ", AMQP)
        assert isinstance(result, Rejection)
        assert result.code == Code.BAD_SHAPE

    def test_a_message_id_that_cannot_be_an_id_is_refused(self) -> None:
        (result,) = read({"sensor_id": "a", "data": 1}, Origin(received_at=NOW, message_id="a b"))
        assert isinstance(result, Rejection)
        assert result.code == Code.BAD_SHAPE
