"""POST /messages/: the contract, call by call."""

import json
import re
from collections.abc import Callable
from datetime import timedelta
from itertools import count
from typing import Any

import psycopg
import pytest
from django.db import connection
from django.utils import timezone

from config.common.correlation import correlated
from config.common.errors import Invalid
from config.common.times import format_time
from messaging.files import paths
from messaging.models import Message
from messaging.services.values import AHEAD, read_created_at
from notifications.models import Event
from tests.messaging.failing_disk import failing
from tests.messaging.raw_calls import call_raw, drafts, file_of, send_raw, write_replies
from tests.processes.exchange.scene import Scene

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]

Threads = Callable[..., list[Any]]
MOMENT = re.compile(r"[0-9-]{10}T[0-9:]{8}\.[0-9]{3}Z")
LATE = "2026-01-31T23:59:59.123Z"


def refused(answer: tuple[int, Any]) -> tuple[int, str, list[str]]:
    """Return the status, the code and the fields that an answer names."""
    status, body = answer
    return status, body["code"], list(body["data"].get("fields", []))


def nothing_kept(scene: Scene) -> bool:
    return not Message.objects.exists() and scene.folders() == {}


class TestSend:
    def test_answer_is_of_the_contract(self, scene: Scene) -> None:
        status, answer = scene.send("m1", created_at=LATE)
        assert (status, list(answer)) == (201, ["version", "id", "name", "accepted_at"])
        assert (answer["version"], answer["id"]) == (1, "m1")
        assert answer["name"] == "20260131T235959123Z_m1_acme-phone_acme-erp_acme-sales.json"
        assert MOMENT.fullmatch(answer["accepted_at"])

    def test_file_has_the_name_and_holds_the_message_as_everyone_sees_it(self, scene: Scene) -> None:
        with correlated("call-0001"):
            _, answer = scene.send("m1", {"n": 1}, created_at=LATE)
        file = file_of(scene, "m1")
        assert file.name == answer["name"]
        assert list(json.loads(file.read_bytes()).items()) == [
            ("version", 1),
            ("id", "m1"),
            ("name", answer["name"]),
            ("from", "acme-phone"),
            ("to", "acme-erp"),
            ("subsystem", "acme-sales"),
            ("created_at", LATE),
            ("correlation_id", "call-0001"),
            ("payload", {"n": 1}),
        ]

    def test_tells_of_it_once(self, scene: Scene) -> None:
        scene.send("m1")
        scene.send("m1")
        event = Event.objects.get(type="message.received")
        assert (event.subject, event.payload["device"]) == ("message/acme/m1", "acme-phone")

    def test_without_an_id_gets_one(self, scene: Scene) -> None:
        body = {"version": 1, "to": scene.database.pk, "payload": 1}
        ids = {scene.call("POST", "/messages/", body, of=scene.device.pk)[1]["id"] for _ in range(2)}
        assert len(ids) == 2
        assert all(re.fullmatch("[a-z0-9-]{36}", id) for id in ids)

    def test_longest_ids_make_a_name_within_its_limit(self, scene: Scene) -> None:
        status, answer = scene.send("x" * 36)
        longest = len(answer["name"]) + sum(36 - len(id) for id in ("acme-phone", "acme-erp", "acme-sales"))
        assert (status, longest <= 180) == (201, True)


class TestRepeat:
    def test_same_id_and_body_has_the_same_answer(self, scene: Scene) -> None:
        first, again = scene.send("m1", [1]), scene.send("m1", [1])
        assert (first[0], again[0]) == (201, 200)
        assert first[1] == again[1]
        assert scene.folders() == {"Messages": ["m1"]}

    def test_fields_in_another_order_are_the_same_body(self, scene: Scene) -> None:
        scene.send("m1", 5)
        body = b'{"payload":5, "to":"acme-erp", "id":"m1", "version":1}'
        assert call_raw(scene, "POST", "/messages/", body, of=scene.device.pk)[0] == 200

    def test_is_answered_whatever_became_of_the_message(self, scene: Scene) -> None:
        scene.send("m1")
        scene.step(scene.start()["process_id"], "prepare", results=[{"message": "m1", "status": "PROCESSED"}])
        assert scene.send("m1")[0] == 200

    def test_is_answered_though_the_database_is_no_longer_active(self, scene: Scene) -> None:
        scene.send("m1")
        type(scene.database).objects.update(active=False)
        assert scene.send("m1")[0] == 200

    @pytest.mark.parametrize("other", [{"payload": 2}, {"created_at": LATE}, {"to": "acme-other"}])
    def test_another_body_is_a_conflict(self, scene: Scene, other: dict[str, Any]) -> None:
        type(scene.database).objects.create(id="acme-other", enterprise=scene.enterprise, name="Other")
        scene.send("m1", 1)
        fields = {"payload": 1, **other}
        assert refused(scene.send("m1", **fields)) == (409, "id_taken", [])
        assert Message.objects.count() == 1

    def test_another_senders_id_is_a_conflict(self, scene: Scene) -> None:
        scene.add_device("tablet")
        scene.send("m1")
        assert refused(scene.send("m1", of="acme-tablet")) == (409, "id_taken", [])

    def test_a_replys_id_is_a_conflict(self, scene: Scene) -> None:
        write_replies(scene, scene.reply("r1"))
        assert refused(scene.send("r1", {"is": "fine"})) == (409, "id_taken", [])

    def test_an_id_of_another_enterprise_is_free(self, scene: Scene) -> None:
        scene.send("m1")
        assert Scene("other").send("m1")[0] == 201


class TestCreatedAt:
    @pytest.mark.parametrize(
        ("given", "kept"),
        [
            ("2020-01-01T00:00:00Z", "2020-01-01T00:00:00.000Z"),
            ("2026-02-01T02:00:00.123999+03:00", "2026-01-31T23:00:00.123Z"),
            ("2026-02-01t02:00:00z", "2026-02-01T02:00:00.000Z"),
        ],
    )
    def test_is_kept_in_utc_cut_to_milliseconds(self, scene: Scene, given: str, kept: str) -> None:
        scene.send("m1", created_at=given)
        assert scene.start()["messages"][0]["created_at"] == kept

    def test_without_it_it_is_the_time_of_receipt(self, scene: Scene) -> None:
        _, answer = scene.send("m1")
        assert scene.start()["messages"][0]["created_at"] == answer["accepted_at"]

    def test_may_be_a_little_ahead(self, scene: Scene) -> None:
        assert scene.send("m1", created_at=format_time(timezone.now() + timedelta(seconds=295)))[0] == 201

    @pytest.mark.parametrize(
        "given",
        [
            pytest.param(format_time(timezone.now() + timedelta(days=1)), id="tomorrow"),
            "2019-12-31T23:59:59.999Z",
            "2026-01-31T23:59:59",
            "2026-02-30T00:00:00Z",
            "0001-01-01T00:00:00+14:00",
            "yesterday",
            "",
            1760000000,
        ],
    )
    def test_wrong_time_is_refused_by_its_name(self, scene: Scene, given: Any) -> None:
        assert refused(scene.send("m1", created_at=given)) == (400, "invalid", ["created_at"])
        assert nothing_kept(scene)

    def test_takes_five_minutes_ahead_and_not_a_millisecond_more(self) -> None:
        at = timezone.now()
        assert read_created_at((at + AHEAD).isoformat(), at=at) <= at + AHEAD
        with pytest.raises(Invalid):
            read_created_at((at + AHEAD + timedelta(milliseconds=1)).isoformat(), at=at)

    def test_more_than_five_minutes_ahead_is_refused(self, scene: Scene) -> None:
        ahead = format_time(timezone.now() + timedelta(seconds=302))
        assert refused(scene.send("m1", created_at=ahead)) == (400, "invalid", ["created_at"])


class TestBody:
    @pytest.mark.parametrize("version", ["2", "0", '"1"', "true", "1.0", "null", "[1]", "10000000000000000000000"])
    def test_another_version_is_refused(self, scene: Scene, version: str) -> None:
        body = b'{"version":%s,"to":"acme-erp","payload":1}' % version.encode()
        status, answer = call_raw(scene, "POST", "/messages/", body, of=scene.device.pk)
        assert (status, json.loads(answer)["code"]) == (400, "unsupported_version")

    @pytest.mark.parametrize("body", [b"", b"{}", b'{"to":"acme-erp","payload":1}', b'{"Version":1}'])
    def test_a_body_without_version_is_refused(self, scene: Scene, body: bytes) -> None:
        assert refused(scene.call("POST", "/messages/", body, of=scene.device.pk))[:2] == (400, "unsupported_version")

    def test_broken_json_is_told_by_line_and_column(self, scene: Scene) -> None:
        body = b'{"version": 1,\n "to": }'
        status, answer = scene.call("POST", "/messages/", body, of=scene.device.pk)
        assert (status, answer["code"], answer["data"]) == (400, "bad_json", {"line": 2, "column": 8})

    @pytest.mark.parametrize(
        "payload",
        [b'"\xff"', b'"\\ud800"', b'"\x00"', b"01", b"NaN", b"[1,]", b"'x'", b"1 2", b'"\\u0000"', b'{"\\u0000":1}'],
    )
    def test_what_is_not_json_for_everyone_is_refused(self, scene: Scene, payload: bytes) -> None:
        status, answer = send_raw(scene, payload)
        assert (status, json.loads(answer)["code"]) == (400, "bad_json")
        assert nothing_kept(scene)

    @pytest.mark.parametrize("body", [b"[]", b"1", b'"text"', b"null"])
    def test_anything_but_an_object_is_refused(self, scene: Scene, body: bytes) -> None:
        assert scene.call("POST", "/messages/", body, of=scene.device.pk)[0] == 400

    @pytest.mark.parametrize(
        ("changes", "field"),
        [
            ({"to": "nobody"}, "to"),
            ({"to": "other-erp"}, "to"),
            ({"to": "acme-phone"}, "to"),
            ({"to": "acme-closed"}, "to"),
            ({"to": "../acme-erp"}, "to"),
            ({"to": None}, "to"),
            ({"id": "a_b"}, "id"),
            ({"id": ""}, "id"),
            ({"id": "x" * 37}, "id"),
            ({"id": "line\n"}, "id"),
            ({"id": "ä"}, "id"),
            ({"id": 5}, "id"),
            ({"colour": "red"}, "colour"),
        ],
    )
    def test_wrong_field_is_named(self, scene: Scene, changes: dict[str, Any], field: str) -> None:
        Scene("other")
        type(scene.database).objects.create(id="acme-closed", enterprise=scene.enterprise, name="No", active=False)
        body = {"version": 1, "id": "m1", "to": "acme-erp", "payload": 1, **changes}
        assert refused(scene.call("POST", "/messages/", body, of=scene.device.pk)) == (400, "invalid", [field])
        assert nothing_kept(scene)

    @pytest.mark.parametrize("field", ["to", "payload"])
    def test_missing_field_is_named(self, scene: Scene, field: str) -> None:
        body = {"version": 1, "to": "acme-erp", "payload": None}
        del body[field]
        assert refused(scene.call("POST", "/messages/", body, of=scene.device.pk)) == (400, "invalid", [field])


class TestPayload:
    @pytest.mark.parametrize(
        "payload",
        [
            b"null",
            b"-0.0",
            b"1.0E+5",
            b"123456789012345678901234567890",
            b'{ "a" : [ 1,\n\t2 ] }',
            b'{"a":1,"a":2}',
            '"Привет \\u00e9 \\ud83d\\ude00 😀"'.encode(),
            b'"\\\\u0000"',
            b"[" * 200 + b"]" * 200,
        ],
    )
    def test_reaches_the_erp_byte_for_byte(self, scene: Scene, payload: bytes) -> None:
        assert send_raw(scene, payload)[0] == 201
        _, answer = call_raw(scene, "POST", "/exchange/processes/", b'{"version":1}')
        assert b'"payload":' + payload + b"}]}" in answer

    @pytest.mark.parametrize(
        "payload",
        [b"[" * 201 + b"]" * 201, b"[" * 100_000 + b"]" * 100_000, b"1e999", b"[-1E+400]", b"9" * 400 + b".5"],
    )
    def test_what_some_reader_cannot_take_is_refused(self, scene: Scene, payload: bytes) -> None:
        status, answer = send_raw(scene, payload)
        assert (status, json.loads(answer)["code"]) == (400, "bad_json")
        assert nothing_kept(scene)

    @pytest.mark.parametrize(("spare", "expected"), [(0, 201), (-1, 413)])
    def test_limit_is_of_the_file(self, scene: Scene, settings: Any, spare: int, expected: int) -> None:
        settings.MESSAGE_MAX_MB = 1
        scene.send("mm")
        envelope = file_of(scene, "mm").stat().st_size - len("null")
        status, answer = send_raw(scene, b'"' + b"x" * (settings.MB - envelope - 2 - spare) + b'"')
        assert status == expected
        assert expected == 201 or json.loads(answer)["code"] == "too_large"
        assert scene.files("Messages") == (["m1", "mm"] if expected == 201 else ["mm"])

    def test_looking_for_numbers_takes_no_time(self, scene: Scene) -> None:
        """Runs of digits that are almost too long once took seconds."""
        began = timezone.now()
        send_raw(scene, b"[" + (b"9" * 299 + b",") * 10_000 + b"1]")
        assert timezone.now() - began < timedelta(seconds=1)


@pytest.mark.django_db(transaction=True)
class TestLineCutAtTheCommit:
    def test_says_that_nobody_knows_and_a_repeat_is_accepted_once(
        self, scene: Scene, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        if connection.vendor != "postgresql":
            pytest.skip("there is no line to SQLite")
        execute = psycopg.Cursor.execute

        def cut(cursor: Any, query: Any, *values: Any, **options: Any) -> Any:
            execute(cursor, query, *values, **options)
            if "INSERT INTO messaging_message" in str(query):
                raise psycopg.OperationalError("server closed the connection unexpectedly")
            return cursor

        with monkeypatch.context() as patch:
            patch.setattr(psycopg.Cursor, "execute", cut)
            status, answer = scene.send("m1")
        assert (status, answer["code"]) == (503, "outcome_unknown")
        assert (scene.send("m1")[0], Message.objects.count()) == (200, 1)


@pytest.mark.django_db(transaction=True)
class TestAtOnce:
    def test_same_message_from_eight_places_is_one(self, scene: Scene, in_threads: Threads) -> None:
        answers = in_threads(lambda number: scene.send("m1", {"n": 1}), 8)
        assert sorted(status for status, _ in answers) == [200] * 7 + [201]
        assert len({json.dumps(answer) for _, answer in answers}) == 1
        assert (Message.objects.count(), scene.folders(), drafts(scene)) == (1, {"Messages": ["m1"]}, [])

    def test_of_different_messages_with_one_id_one_stays(self, scene: Scene, in_threads: Threads) -> None:
        answers = in_threads(lambda number: scene.send("m1", number), 8)
        assert sorted(status for status, _ in answers) == [201] + [409] * 7
        assert (Message.objects.count(), scene.folders(), drafts(scene)) == (1, {"Messages": ["m1"]}, [])

    def test_sending_while_the_erp_takes_loses_nothing(self, scene: Scene, in_threads: Threads) -> None:
        """Between the commit and the rename the ERP may want the file."""

        def act(number: int) -> None:
            for turn in range(10):
                if number % 2:
                    scene.send(f"m{number}-{turn}")
                elif (answer := scene.start())["status"] == "OK":
                    scene.step(answer["process_id"], "interrupt", text="next")

        in_threads(act, 4)
        assert Message.objects.filter(status="waiting").count() == 20
        assert len(scene.files("Messages")) == 20


class TestDisk:
    @pytest.mark.parametrize(("error", "status", "code"), [(28, 507, "disk_full"), (5, 503, "disk_failed")])
    def test_failure_at_any_step_of_the_write_keeps_nothing(
        self, scene: Scene, monkeypatch: pytest.MonkeyPatch, error: int, status: int, code: str
    ) -> None:
        monkeypatch.setattr(paths, "_ensured", set())  # as in a process that has just begun
        for step in count(1):
            with failing(error, at=step, modules=["config.common.files"]) as disk:
                answer = scene.send("m1")
            if not disk.has_failed:
                break
            assert refused(answer)[:2] == (status, code), step
            assert nothing_kept(scene), step
        assert step > 20
        assert (answer[0], scene.folders(), drafts(scene)) == (201, {"Messages": ["m1"]}, [])

    @pytest.mark.parametrize(("error", "code"), [(24, "out_of_resources"), (30, "disk_failed"), (13, "disk_failed")])
    def test_other_failures_are_told_to_come_again(self, scene: Scene, error: int, code: str) -> None:
        scene.send("m0")
        with failing(error):
            assert refused(scene.send("m1"))[:2] == (503, code)
        assert scene.folders() == {"Messages": ["m0"]}

    def test_accepted_without_its_name_it_still_reaches_the_erp(self, scene: Scene) -> None:
        scene.send("m0")
        with failing(28, names=["rename"], times=9):
            assert scene.send("m1", {"n": 1})[0] == 201
        assert (scene.files("Messages"), len(drafts(scene))) == (["m0"], 1)
        assert [message["id"] for message in scene.start()["messages"]] == ["m0", "m1"]
        assert (scene.files("Messages"), drafts(scene)) == (["m0", "m1"], [])

    def test_killed_after_the_commit_it_is_accepted(self, scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
        def die(*arguments: Any) -> None:
            raise SystemExit

        with monkeypatch.context() as patch:
            patch.setattr("messaging.services.send.name_drafts", die)
            with pytest.raises(SystemExit):
                scene.send("m1", 7)
        assert scene.send("m1", 7)[0] == 200
        assert [message["payload"] for message in scene.start()["messages"]] == [7]
