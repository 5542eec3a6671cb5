"""Signals over REST: what is taken at its bounds, and what sensor, history and events tell of it afterwards."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from config.common.correlation import correlated
from config.common.times import format_time
from tests.sensors.api.callers import Caller, service
from tests.sensors.registry import hear, make_sensor

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]


@pytest.fixture
def desk() -> Caller:
    make_sensor()
    return service("signals:write", "registry:read", "history:read")


def moment(**ahead: float) -> str:
    return format_time(timezone.now() + timedelta(**ahead))


def send(desk: Caller, *values: tuple[str, str, int]) -> None:
    """Send signals of given time, id and value, in this order."""
    body = [{"sensor_id": "0xA", "at": at, "id": id, "data": data} for at, id, data in values]
    assert desk("POST", "/signals/", body).json() == {"accepted": len(values), "rejected": []}


def history(desk: Caller) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = desk("GET", "/sensors/0xA/history/").json()["results"]
    return rows


class TestBounds:
    @pytest.mark.parametrize(
        "signal",
        [
            {"at": "2020-01-01T00:00:00Z", "id": "a"},
            {"at": moment(minutes=4.9), "id": "a"},
            {"at": "2026-01-31T15:00:00+03:00"},
            {"at": moment(), "id": "a" * 64},
            {"at": moment(), "id": "AZaz09:._-"},
            {"at": None, "id": None},
            {"note": "what nobody asked for"},
        ],
    )
    def test_takes_what_lies_within_them(self, desk: Caller, signal: dict[str, Any]) -> None:
        answer = desk("POST", "/signals/", {"sensor_id": "0xA", "data": 0} | signal)
        assert (answer.status_code, answer.json()) == (202, {"accepted": 1, "rejected": []})

    @pytest.mark.parametrize(
        ("signal", "code"),
        [
            ({"data": True}, "bad_data"),
            ({"data": 1.0}, "bad_data"),
            ({"data": "1"}, "bad_data"),
            ({"data": 2}, "bad_data"),
            ({"data": None}, "bad_data"),
            ({"at": "2019-12-31T23:59:59.999Z"}, "bad_time"),
            ({"at": "2026-01-31T12:00:00"}, "bad_time"),
            ({"id": "a"}, "bad_time"),
            ({"at": moment(minutes=1440)}, "from_the_future"),
            ({"at": moment(), "id": "a" * 65}, "bad_shape"),
            ({"at": moment(), "id": ""}, "bad_shape"),
            ({"at": moment(), "id": "a/b"}, "bad_shape"),
            ({"sensor_id": "0xa"}, "unknown_sensor"),
            ({"sensor_id": ""}, "unknown_sensor"),
            ({"sensor_id": None}, "bad_shape"),
        ],
    )
    def test_names_what_lies_beyond_and_changes_nothing(self, desk: Caller, signal: dict[str, Any], code: str) -> None:
        answer = desk("POST", "/signals/", {"sensor_id": "0xA", "data": 1} | signal)
        assert (answer.status_code, answer.json()["accepted"]) == (202, 0)
        assert [(row["index"], row["code"]) for row in answer.json()["rejected"]] == [(0, code)]
        assert (history(desk), desk("GET", "/sensors/0xA/").json()["connection"]) == ([], "never_seen")

    def test_takes_a_thousand_at_once(self, desk: Caller) -> None:
        assert desk("POST", "/signals/", [{"sensor_id": "0xA", "data": 1}] * 1000).json()["accepted"] == 1000
        assert len(desk("GET", "/sensors/0xA/history/?limit=1000").json()["results"]) == 1000

    @pytest.mark.parametrize("body", [b"", b"{", b"nonsense", b"\xff"])
    def test_what_is_no_json_is_an_error(self, desk: Caller, body: bytes) -> None:
        answer = desk("POST", "/signals/", body)
        assert (answer.status_code, answer.json()["code"]) == (400, "bad_json")

    @pytest.mark.parametrize("body", [b"7", b"null", b'"0xA"', b"[[]]"])
    def test_what_is_no_signal_is_refused(self, desk: Caller, body: bytes) -> None:
        answer = desk("POST", "/signals/", body)
        assert (answer.status_code, answer.json()["rejected"][0]["code"]) == (202, "bad_shape")


class TestIdentity:
    def test_without_time_and_id_it_has_those_of_its_receipt(self, desk: Caller) -> None:
        desk("POST", "/signals/", [{"sensor_id": "0xA", "data": 1}, {"sensor_id": "0xA", "data": 1}])
        second, first = history(desk)
        assert first["at"] == first["received_at"]
        assert first["id"] < second["id"], "ids that were made are ordered by time"

    def test_times_are_cut_to_milliseconds(self, desk: Caller) -> None:
        send(desk, ("2026-01-31T15:00:00.123999+03:00", "a", 1))
        assert history(desk)[0]["at"] == "2026-01-31T12:00:00.123Z"
        send(desk, ("2026-01-31T12:00:00.123Z", "a", 1))
        assert len(history(desk)) == 1

    def test_the_same_id_at_another_time_is_another_signal(self, desk: Caller) -> None:
        send(desk, ("2026-01-31T12:00:00Z", "a", 1), ("2026-01-31T12:00:01Z", "a", 1))
        assert len(history(desk)) == 2

    def test_an_idempotency_key_is_not_asked_for(self, desk: Caller) -> None:
        for data in (0, 1):
            answer = desk("POST", "/signals/", {"sensor_id": "0xA", "data": data}, **{"Idempotency-Key": "one"})
            assert answer.json() == {"accepted": 1, "rejected": []}
        assert [row["data"] for row in history(desk)] == [1, 0]


class TestState:
    def test_the_sensor_tells_its_value_since_when_and_last_seen(self, desk: Caller) -> None:
        at = moment(minutes=-5)
        hear()
        send(desk, (at, "a", 1), (moment(minutes=-1), "b", 1))
        told = desk("GET", "/sensors/0xA/").json()
        assert (told["state"], told["state_changed_at"], told["connection"]) == (1, at, "online")
        assert told["last_seen_at"] == history(desk)[0]["received_at"]

    def test_is_the_value_of_the_greatest_time_and_id_whatever_the_order(self, desk: Caller) -> None:
        early, late = "2026-01-31T12:00:00.000Z", "2026-01-31T12:00:01.000Z"
        send(desk, (late, "b", 1), (late, "a", 0), (early, "z", 0))
        told = desk("GET", "/sensors/0xA/").json()
        assert (told["state"], told["state_changed_at"]) == (1, late)
        assert [row["changed"] for row in history(desk)] == [True, False, False]

    def test_every_step_is_an_event_also_inside_one_list(self, desk: Caller) -> None:
        times = [f"2026-01-31T12:00:0{n}.000Z" for n in range(4)]
        send(desk, *((at, "a", data) for at, data in zip(times, (0, 0, 1, 0), strict=True)))
        events = desk("GET", "/sensors/0xA/events/").json()["results"]
        assert [(event["at"][17:19], event["previous"], event["data"]) for event in reversed(events)] == [
            ("00", None, 0),
            ("02", 0, 1),
            ("03", 1, 0),
        ]

    def test_a_late_signal_is_history_and_refreshes_last_seen(self, desk: Caller) -> None:
        send(desk, ("2026-01-31T12:00:01Z", "a", 1))
        before = desk("GET", "/sensors/0xA/").json()
        send(desk, ("2026-01-31T12:00:00Z", "a", 0))
        after = desk("GET", "/sensors/0xA/").json()
        assert (after["state"], after["state_changed_at"]) == (before["state"], before["state_changed_at"])
        assert after["last_seen_at"] >= before["last_seen_at"]
        assert [row["data"] for row in history(desk)] == [1, 0]

    def test_a_chain_is_named_by_its_caller(self, desk: Caller) -> None:
        with correlated("call-of-the-gate"):
            desk("POST", "/signals/", {"sensor_id": "0xA", "data": 1})
        assert desk("GET", "/sensors/0xA/events/").json()["results"][0]["correlation_id"] == "call-of-the-gate"
