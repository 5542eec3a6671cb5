"""API_1: begin a process."""

import json
import random
import uuid
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from config.common.correlation import correlated
from messaging.models import ExchangeDatabase, LastRequest, Message
from notifications.models import Event
from processes.exchange.models import ExchangeProcess, ProcessMessage
from tests.messaging.raw_calls import call_raw, file_of
from tests.processes.exchange.scene import Answer, Scene, move_files
from tests.processes.exchange.states import alerts, bring_to, let_time_pass

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]

Threads = Callable[..., list[Any]]
PATH = "/exchange/processes/"


def taken(answer: Answer) -> list[str]:
    return [message["id"] for message in answer["messages"]]


def refused(scene: Scene, **fields: Any) -> tuple[int, str, list[str]]:
    status, answer = scene.call("POST", PATH, {"version": 1, **fields})
    return status, answer["code"], list(answer["data"].get("fields", []))


class TestAnswer:
    def test_ok_is_of_the_contract(self, scene: Scene) -> None:
        with correlated("call-0001"):
            _, accepted = scene.send("m1", {"n": 1}, created_at="2026-01-31T23:59:59.123Z")
        answer = scene.start()
        assert list(answer) == ["version", "status", "process_id", "messages"]
        assert (answer["version"], answer["status"]) == (1, "OK")
        assert str(uuid.UUID(answer["process_id"])) == answer["process_id"]
        assert answer["messages"] == [
            {
                "version": 1,
                "id": "m1",
                "name": accepted["name"],
                "from": "acme-phone",
                "to": "acme-erp",
                "subsystem": "acme-sales",
                "created_at": "2026-01-31T23:59:59.123Z",
                "correlation_id": "call-0001",
                "payload": {"n": 1},
            }
        ]

    def test_messages_are_the_files_joined(self, scene: Scene) -> None:
        scene.send("m1", [1])
        scene.send("m2", [2])
        files = [file_of(scene, id).read_bytes() for id in ("m1", "m2")]
        _, answer = call_raw(scene, "POST", PATH, b'{"version":1}')
        assert answer.endswith(b'"messages":[' + b",".join(files) + b"]}")

    def test_idle_when_nothing_waits(self, scene: Scene) -> None:
        assert call_raw(scene, "POST", PATH, b'{"version":1}') == (200, b'{"version":1,"status":"IDLE"}')
        assert not ExchangeProcess.objects.exists()

    def test_busy_names_the_process(self, scene: Scene) -> None:
        process = bring_to(scene, "STARTED")
        scene.send("m2")
        assert scene.start() == {"version": 1, "status": "BUSY", "process_id": process}
        assert scene.receipt("m2")["status"] == "waiting"

    @pytest.mark.parametrize("status", ["STARTED", "READY_TO_COMMIT", "CLEANUP", "FAILED"])
    def test_busy_while_a_process_is_live(self, scene: Scene, status: str) -> None:
        bring_to(scene, status)
        assert scene.start()["status"] == "BUSY"

    @pytest.mark.parametrize("status", ["TIMED_OUT", "INTERRUPTED", "ROLLED_BACK", "NEVER_READY"])
    def test_ended_process_lets_go_of_lane_and_messages(self, scene: Scene, status: str) -> None:
        bring_to(scene, status)
        assert taken(scene.start()) == ["m1"]

    @pytest.mark.parametrize("status", ["DONE", "IN_DOUBT"])
    def test_ended_process_lets_go_of_the_lane_alone(self, scene: Scene, status: str) -> None:
        bring_to(scene, status)
        assert scene.start()["status"] == "IDLE"

    def test_tells_of_it(self, scene: Scene) -> None:
        process = bring_to(scene, "STARTED")
        event = Event.objects.get(type="exchange.started")
        assert (event.subject, event.payload["messages"]) == (f"process/{process}", ["m1"])

    def test_each_database_gets_its_own(self, scene: Scene) -> None:
        other = ExchangeDatabase.objects.create(id="acme-two", enterprise=scene.enterprise, name="Two")
        scene.send("m1")
        scene.send("m2", to=other.pk)
        assert taken(scene.start()) == ["m1"]


class TestBody:
    @pytest.mark.parametrize(
        ("fields", "field"),
        [
            ({"max_files": 0}, "max_files"),
            ({"max_files": -1}, "max_files"),
            ({"max_files": 1.5}, "max_files"),
            ({"max_files": "3"}, "max_files"),
            ({"max_mb": 0}, "max_mb"),
            ({"max_mb": 0.99}, "max_mb"),
            ({"subsystems": ["nothing"]}, "subsystems"),
            ({"subsystems": ["acme-sales", "nothing"]}, "subsystems"),
            ({"subsystems": ["other-sales"]}, "subsystems"),
            ({"subsystems": "acme-sales"}, "subsystems"),
            ({"senders": ["nobody"]}, "senders"),
            ({"senders": ["other-phone"]}, "senders"),
            ({"senders": ["acme-erp"]}, "senders"),
            ({"committed": "x"}, "committed"),
            ({"max_file": 1}, "max_file"),
        ],
    )
    def test_wrong_field_is_named(self, scene: Scene, fields: Any, field: str) -> None:
        Scene("other")
        scene.send("m1")
        assert refused(scene, **fields) == (400, "invalid", [field])
        assert not ExchangeProcess.objects.exists()

    @pytest.mark.parametrize("body", [b"", b"{}", b'{"version":2}', b'{"version":"1"}'])
    def test_has_a_version(self, scene: Scene, body: bytes) -> None:
        status, answer = scene.call("POST", PATH, body)
        assert (status, answer["code"]) == (400, "unsupported_version")

    @pytest.mark.parametrize("name", ["subsystems", "senders"])
    def test_many_unknown_ids_are_just_unknown(self, scene: Scene, name: str) -> None:
        """SQLite takes only so many parameters."""
        assert refused(scene, **{name: [f"x{n}" for n in range(300_000)]}) == (400, "invalid", [name])

    @pytest.mark.slow
    def test_many_committed_ids_are_passed_over(self, scene: Scene) -> None:
        scene.send("m1")
        assert scene.start(committed=[str(uuid.UUID(int=n)) for n in range(260_000)])["status"] == "OK"

    def test_null_is_as_good_as_missing(self, scene: Scene) -> None:
        scene.send("m1")
        names = ["subsystems", "senders", "max_files", "max_mb", "committed"]
        assert scene.start(**dict.fromkeys(names))["status"] == "OK"


class TestLanes:
    @pytest.fixture
    def lanes(self, scene: Scene) -> Scene:
        for name in ("stock", "fleet"):
            scene.add_device(f"{name}-1", scene.add_subsystem(name))
        scene.send("m1")
        scene.send("m2", of="acme-stock-1")
        scene.send("m3", of="acme-fleet-1")
        return scene

    def test_disjoint_ones_run_side_by_side(self, lanes: Scene) -> None:
        first, second = lanes.start(subsystems=["acme-sales"]), lanes.start(subsystems=["acme-stock", "acme-fleet"])
        assert (taken(first), taken(second)) == (["m1"], ["m2", "m3"])

    @pytest.mark.parametrize(
        ("first", "second"),
        [
            (["acme-sales", "acme-stock"], ["acme-stock", "acme-fleet"]),
            (None, ["acme-stock"]),
            ([], ["acme-stock"]),
            (["acme-sales"], None),
            (["acme-sales"], []),
            (None, None),
        ],
    )
    def test_overlapping_ones_are_busy(self, lanes: Scene, first: Any, second: Any) -> None:
        process = lanes.start(subsystems=first)["process_id"]
        assert lanes.start(subsystems=second) == {"version": 1, "status": "BUSY", "process_id": process}

    def test_stuck_lane_stops_no_other(self, lanes: Scene) -> None:
        stuck = lanes.start(subsystems=["acme-sales"])["process_id"]
        for _ in range(2):
            process = lanes.start(subsystems=["acme-stock"])["process_id"]
            lanes.step(process, "interrupt", text="")
        assert lanes.process(stuck)["status"] == "STARTED"

    def test_lane_is_what_was_asked_for_whatever_is_in_it(self, lanes: Scene) -> None:
        lanes.start(subsystems=["acme-sales", "acme-stock"], senders=["acme-phone"])
        assert lanes.start(subsystems=["acme-stock"])["status"] == "BUSY"

    def test_senders_only_filter(self, lanes: Scene) -> None:
        assert taken(lanes.start(senders=["acme-stock-1", "acme-fleet-1"])) == ["m2", "m3"]
        assert lanes.start(senders=["acme-phone"])["status"] == "BUSY"

    def test_senders_of_another_lane_have_nothing(self, lanes: Scene) -> None:
        assert lanes.start(subsystems=["acme-sales"], senders=["acme-stock-1"])["status"] == "IDLE"
        assert taken(lanes.start(subsystems=["acme-stock", "acme-fleet"], senders=["acme-fleet-1"])) == ["m3"]

    def test_named_twice_is_named(self, lanes: Scene) -> None:
        assert taken(lanes.start(subsystems=["acme-sales"] * 2, senders=["acme-phone"] * 2)) == ["m1"]

    def test_another_database_has_lanes_of_its_own(self, lanes: Scene) -> None:
        lanes.start()
        assert Scene("other").start()["status"] == "IDLE"


class TestCommitted:
    @pytest.mark.parametrize("status", ["READY_TO_COMMIT", "IN_DOUBT"])
    def test_settles_what_waits_for_it(self, scene: Scene, status: str) -> None:
        process = bring_to(scene, status)
        assert scene.start(committed=[process]) == {"version": 1, "status": "BUSY", "process_id": process}
        assert scene.process(process)["status"] == "CLEANUP"
        move_files()
        assert scene.folders() == {"Messages": ["r-m1"], "Log": ["m1"]}
        assert alerts("exchange.in_doubt") == []

    def test_settles_several_and_goes_on_in_another_lane(self, scene: Scene) -> None:
        scene.add_device("van", scene.add_subsystem("stock"))
        first = bring_to(scene, "IN_DOUBT")
        scene.send("m2")
        second = scene.start(subsystems=["acme-sales"])["process_id"]
        scene.prepare(second, {"m2": "PROCESSED"})
        let_time_pass(second)
        scene.send("m3", of="acme-van")
        assert scene.start(committed=[first, second])["status"] == "BUSY"
        assert {scene.process(process)["status"] for process in (first, second)} == {"CLEANUP"}
        move_files()
        assert taken(scene.start(committed=[first, second])) == ["m3"]

    def test_proves_nothing_about_others(self, scene: Scene) -> None:
        process = bring_to(scene, "IN_DOUBT")
        assert scene.start(committed=[])["status"] == scene.start()["status"] == "IDLE"
        assert scene.process(process)["status"] == "IN_DOUBT"

    def test_unknown_and_foreign_ids_are_ignored(self, scene: Scene) -> None:
        other = Scene("other")
        foreign = bring_to(other, "IN_DOUBT")
        unknown = ["nonsense", "", str(uuid.uuid4()), foreign, "\ud7ff" * 40]
        assert scene.start(committed=unknown)["status"] == "IDLE"
        assert other.process(foreign)["status"] == "IN_DOUBT"

    @pytest.mark.parametrize("status", ["CLEANUP", "FAILED", "DONE", "STARTED", "TIMED_OUT", "INTERRUPTED"])
    def test_what_is_settled_or_was_never_ready_stays_as_it_is(self, scene: Scene, status: str) -> None:
        process = bring_to(scene, status)
        scene.start(committed=[process])
        assert scene.process(process)["status"] == status
        assert alerts("exchange.contradiction") == []

    def test_contradiction_raises_an_alert(self, scene: Scene) -> None:
        process = bring_to(scene, "ROLLED_BACK")
        assert taken(scene.start(committed=[process])) == ["m1"]
        assert alerts("exchange.contradiction") == [f"process/{process}"]
        assert scene.process(process)["status"] == "ROLLED_BACK"


@pytest.mark.django_db(transaction=True)
class TestAtOnce:
    def test_no_message_gets_into_two_processes(self, scene: Scene, in_threads: Threads) -> None:
        names = ["sales", "s1", "s2", "s3"]
        for name in names[1:]:
            scene.add_device(f"{name}-d", scene.add_subsystem(name))
        devices = [scene.device.pk, *(f"acme-{name}-d" for name in names[1:])]
        for number in range(40):
            scene.send(f"m{number}", of=devices[number % 4])

        def act(number: int) -> list[Answer]:
            chance = random.Random(number)
            lanes = [[f"acme-{name}" for name in chance.sample(names, chance.randint(1, 3))] for _ in range(5)]
            return [scene.start(subsystems=lane, max_files=2) for lane in lanes]

        answers = [answer for answers in in_threads(act, 8) for answer in answers]
        started = [answer for answer in answers if answer["status"] == "OK"]
        assert 1 <= len(started) <= 4
        assert max(Counter(id for answer in started for id in taken(answer)).values()) == 1
        lanes = ExchangeProcess.objects.values_list("lane", flat=True)
        assert max(Counter(name for lane in lanes for name in lane).values()) == 1
        assert ProcessMessage.objects.count() == Message.objects.filter(status="in_process").count()

    def test_one_of_eight_starts(self, scene: Scene, in_threads: Threads) -> None:
        scene.send("m1")
        answers = in_threads(lambda number: scene.start(), 8)
        assert Counter(answer["status"] for answer in answers) == {"OK": 1, "BUSY": 7}
        assert len({answer["process_id"] for answer in answers}) == 1

    def test_settling_and_starting_at_once(self, scene: Scene, in_threads: Threads) -> None:
        process = bring_to(scene, "IN_DOUBT")
        answers = in_threads(lambda number: scene.start(committed=[process])["status"], 4)
        assert set(answers) == {"BUSY"}
        assert json.dumps(scene.process(process)["log"]).count("has committed") == 1


class TestLastRequest:
    def kept(self) -> tuple[str, list[str]]:
        last = LastRequest.objects.get()
        return last.answer, last.lane

    def ask_later(self, scene: Scene, *, seconds: float = 6, **fields: Any) -> tuple[str, list[str]]:
        """Ask so long after the last request that is kept."""
        LastRequest.objects.update(asked_at=timezone.now() - timedelta(seconds=seconds))
        scene.start(**fields)
        return self.kept()

    def test_says_when_the_erp_asked_and_what_it_was_answered(self, scene: Scene) -> None:
        scene.start()
        assert self.kept() == ("IDLE", [])
        assert timezone.now() - LastRequest.objects.get().asked_at < timedelta(minutes=1)
        scene.send("m1")
        assert self.ask_later(scene, subsystems=["acme-sales"]) == ("OK", ["acme-sales"])
        assert self.ask_later(scene) == ("BUSY", [])

    def test_is_written_at_most_once_in_some_seconds(self, scene: Scene) -> None:
        scene.start()
        scene.send("m1")
        assert self.ask_later(scene, seconds=4) == ("IDLE", [])
        with CaptureQueriesContext(connection) as queries:
            scene.start(subsystems=["acme-sales"])
        assert [query["sql"] for query in queries if "messaging_lastrequest" in query["sql"]][1:] == []

    def test_a_clock_that_was_ahead_does_not_keep_it(self, scene: Scene) -> None:
        scene.start()
        scene.send("m1")
        assert self.ask_later(scene, seconds=-3600)[0] == "OK"

    def test_a_call_that_is_refused_is_no_request(self, scene: Scene) -> None:
        assert refused(scene, subsystems=["none"])[0] == 400
        assert not LastRequest.objects.exists()
