"""A database put back to a moment before the disk's: `reindex_messages --after-restore`, and nothing is processed twice
or lost. What happens before the copy, after it and from then on is chance, by seed."""

import os
import random
import shutil
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.management import call_command

from messaging.files.names import name_of
from messaging.files.paths import root
from messaging.models import Message
from messaging.services.requeue import requeue_message
from messaging.simulation.devices import Device
from messaging.simulation.journal import Journal
from processes.exchange.models import ExchangeProcess
from processes.exchange.reference.client import Server
from processes.exchange.reference.erp import Ending, Options, exchange_once, recover
from processes.exchange.reference.hooks import Hooks, Point
from processes.exchange.reference.ledger import Deadlock, IncorrectMessage, count_effects, open_store
from processes.exchange.reference.store import Store
from processes.exchange.reindex.doubts import DoubtfulProcesses
from processes.exchange.services.operations import resolve_by_operator
from processes.exchange.services.timeouts import time_out_once
from tests.faults.database_copy import copy_database
from tests.faults.exchange_clients import Died
from tests.faults.exchange_scenario import CallsInProcess
from tests.faults.fault_injection import FaultInjector
from tests.messaging.raw_calls import file_of
from tests.processes.exchange.scene import Scene, move_files

SCALE = float(os.environ.get("DRILL_SCALE", "0.02"))
SEEDS = max(8, int(300 * SCALE))
ROUNDS = 40
OLD = "2020-01-01T00:00:00Z"
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.embedded, pytest.mark.timeout(1800)]


@pytest.fixture(autouse=True)
def _own_folders() -> Iterator[None]:
    yield
    shutil.rmtree(settings.DATA_DIR / "messages", ignore_errors=True)


class Whims(Hooks):
    """An ERP that leaves out, deadlocks, fails to commit and dies by chance; some messages are wrong for ever."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self.is_moody = True
        self.last_point: Point | None = None
        """Where it surely dies."""

    def reached(self, point: Point, process_id: str) -> None:
        if point == self.last_point or self._happens(0.05):
            raise Died

    def leaves_out(self, process_id: str, message: Any) -> bool:
        return self._happens(0.1)

    def applied(self, process_id: str, message: Any) -> None:
        if is_wrong(message["payload"]):
            raise IncorrectMessage("no such article", 17)
        if self._happens(0.15):
            raise Deadlock("by chance")

    def committing(self, process_id: str, store: Store) -> None:
        if self._happens(0.15):
            raise sqlite3.OperationalError("by chance")

    def _happens(self, rate: float) -> bool:
        return self.is_moody and self._chance.random() < rate


def is_wrong(payload: Any) -> bool:
    return bool(payload["amount"] % 7 == 0)


class Installation:
    """A device, an ERP and the product between them, who do what chance tells."""

    def __init__(self, seed: int, folder: Path) -> None:
        self.chance = random.Random(seed)
        self.scene = Scene(f"s{seed}")
        calls = CallsInProcess(self.scene.keys[self.scene.device.pk], FaultInjector())
        self.device = Device(self.scene.device.pk, calls, Journal(folder / f"{seed}.journal"))
        self.store = open_store(str(folder / f"{seed}.erp"))
        self.server = Server("http://127.0.0.1:1", "", pause=0)
        self.server._calls = CallsInProcess(self.scene.keys[self.scene.database.pk], FaultInjector())
        self.whims = Whims(self.chance)

    def live(self, actions: int, doings: Sequence[Callable[[], object]] = ()) -> None:
        usual = [self.send] * 2 + [self.exchange] * 3 + [move_files, self.collect, self.wait]
        for doing in self.chance.choices(doings or usual, k=actions):
            doing()

    def die_somewhere(self) -> None:
        """Let the ERP die in mid-exchange, or not; what follows finds it so."""
        self.whims.last_point = self.chance.choice([None, *Point])
        self.exchange()
        self.whims.last_point = None
        self.live(self.chance.randint(0, 2), [self.send, move_files, self.collect, self.wait])

    def send(self) -> None:
        for _ in range(self.chance.randint(1, 3)):
            self.device.send(self.scene.database.pk, {"account": "a", "amount": self.chance.randint(1, 50)})

    def exchange(self) -> Ending:
        """One exchange; a new life first settles what the last one left open, as each beginning of an exchange does."""
        options = Options(max_files=self.chance.randint(1, 4))
        try:
            recover(self.server, self.store)
            return exchange_once(self.server, self.store, options, self.whims).ending
        except Died:
            self.store.reopen()
            return Ending.NO_ANSWER

    def collect(self) -> None:
        assert self.device.collect()

    def wait(self) -> None:
        """Let the time of what waits for the ERP run out."""
        mine = ExchangeProcess.objects.filter(database=self.scene.database, due_at__isnull=False)
        mine.update(due_at=OLD)
        time_out_once()

    def finish(self) -> None:
        """Go on by the document, with an operator who looks into the ERP where the server asks for it."""
        self.whims.is_moody = False
        mine = Message.objects.filter(database=self.scene.database)
        for _ in range(ROUNDS):
            self.exchange()
            self.wait()
            move_files()
            self.collect()
            for process in ExchangeProcess.objects.filter(database=self.scene.database, status="IN_DOUBT"):
                self.resolve(process)
            if not mine.exclude(status__in=["processed", "incorrect"], moving_from="").exists():
                return
        raise AssertionError(f"not at rest after {ROUNDS} rounds")

    def resolve(self, process: ExchangeProcess) -> None:
        resolve_by_operator(process_id=process.pk, committed=self.was_committed(process), reason="seen", actor="staff")

    def was_committed(self, process: ExchangeProcess) -> bool:
        """Look into the ERP for the process, or where the server has lost its id, for the messages."""
        rows = self.store.execute("SELECT committed FROM exchange_process WHERE process_id = ?", str(process.pk))
        if rows:
            return bool(rows[0][0])
        held = Message.objects.filter(process=process.pk)
        about = {row.reply_to if row.direction == "reply" else row.public_id for row in held}
        found = {id in count_effects(self.store) for id in about}
        assert len(found) == 1, "one answer cannot be true of all that it is asked about"
        return found.pop()

    def check(self) -> None:
        """Nothing lost, nothing twice, every file in its place, every row true."""
        accepted = self.device.journal.accepted()
        wrong = {id for id, payload in accepted.items() if is_wrong(payload)}
        right = Counter(accepted.keys() - wrong)
        assert count_effects(self.store) == right
        rows = Message.objects.filter(database=self.scene.database)
        requests = rows.filter(direction="request").values_list("public_id", "status")
        assert dict(requests) == {id: "incorrect" if id in wrong else "processed" for id in accepted}
        assert Counter(self.device.journal.confirmed().values()) == right
        assert self.device.journal.totals().came_back == 0
        belongs = {(row.folder, name_of(row)) for row in rows}
        assert {(path.parent.name, path.name) for path in (root() / self.scene.database.pk).glob("*/*")} == belongs

    def close(self) -> None:
        self.store.close()
        self.device.journal.close()


def test_nothing_is_lost_and_nothing_twice(tmp_path: Path) -> None:
    empty = copy_database()
    for seed in range(SEEDS):
        try:
            assert_restored_whole(seed, tmp_path)
        except BaseException as error:
            error.add_note(f"seed {seed}")
            raise
        shutil.rmtree(root())
        empty.put_back()
    empty.close()


def assert_restored_whole(seed: int, folder: Path) -> None:
    """Restore a copy of the database from between two deaths, go on, and check that nothing is lost or done twice."""
    installation = Installation(seed, folder)
    installation.send()
    installation.live(installation.chance.randint(0, 8))
    installation.die_somewhere()
    copy = copy_database()
    installation.live(installation.chance.randint(0, 10))
    installation.die_somewhere()
    copy.put_back()
    copy.close()
    call_command("reindex_messages", "--after-restore")
    installation.finish()
    installation.check()
    installation.close()


@contextmanager
def restored() -> Iterator[None]:
    """What happens inside is on the disk, and the database knows nothing of it."""
    copy = copy_database()
    yield
    copy.put_back()
    copy.close()


def process(scene: Scene, results: dict[str, str], *, id: str = "r1", **options: Any) -> str:
    """Take messages to READY_TO_COMMIT, the first with a reply; return the process."""
    started = scene.start(**options)
    assert [message["id"] for message in started["messages"]] == list(results)
    assert scene.prepare(started["process_id"], results, scene.reply(id, reply_to=next(iter(results)))) == "OK"
    return str(started["process_id"])


def reindexed(scene: Scene) -> dict[str, str]:
    """Reindex, and tell what became of the messages."""
    call_command("reindex_messages", "--after-restore")
    move_files()
    return dict(Message.objects.filter(database=scene.database).values_list("public_id", "status"))


class TestSinceTheCopy:
    """What chance seldom brings together."""

    @pytest.fixture
    def scene(self) -> Scene:
        made = Scene()
        for id in ("a", "b"):
            made.send(id)
        return made

    def test_rolled_back_and_one_of_two_processed_then_the_other_is_offered(self, scene: Scene) -> None:
        first = process(scene, {"a": "PROCESSED", "b": "PROCESSED"})
        with restored():
            scene.step(first, "rollback", error_text="no")
            scene.step(process(scene, {"a": "PROCESSED"}, max_files=1, id="r2"), "commit")
            move_files()
        assert reindexed(scene) == {"a": "processed", "b": "waiting", "r2": "waiting"}

    def test_out_of_doubt_and_processed_by_another_it_is_not_in_doubt_again(self, scene: Scene) -> None:
        first = process(scene, {"a": "PROCESSED"}, max_files=1)
        time_out(first)
        with restored():
            scene.step(first, "resolve", committed=False)
            move_files()
            scene.step(process(scene, {"a": "PROCESSED"}, max_files=1, id="r2"), "commit")
            move_files()
        assert reindexed(scene) == {"a": "processed", "b": "waiting", "r2": "waiting"}

    def test_reply_that_was_in_doubt_and_is_confirmed_is_not_fetched_again(self, scene: Scene) -> None:
        first = process(scene, {"a": "PROCESSED"}, max_files=1)
        time_out(first)
        with restored():
            scene.step(first, "resolve", committed=True)
            move_files()
            scene.call("POST", "/messages/r1/confirm/", of=scene.device.pk)
        assert reindexed(scene) == {"a": "processed", "b": "waiting", "r1": "processed"}
        assert scene.process(first)["status"] == "DONE"

    def test_requeued_and_processed_it_does_not_end_in_error_again(self, scene: Scene) -> None:
        scene.step(process(scene, {"a": "PROCESSED_INCORRECT"}, max_files=1), "commit")
        move_files()
        with restored():
            requeue_message(message_id=Message.objects.get(public_id="a").pk, reason="again", actor="staff")
            move_files()
            scene.step(process(scene, {"a": "PROCESSED"}, max_files=1, id="r2"), "commit")
            move_files()
        assert reindexed(scene)["a"] == "processed"

    def test_each_message_in_doubt_is_asked_about_by_itself(self, scene: Scene) -> None:
        with restored():
            process(scene, {"a": "PROCESSED"}, max_files=1)
            file = file_of(scene, "b")
            file.rename(file.parent.parent / "Unknown" / file.name)
        assert reindexed(scene) == {"a": "in_doubt", "b": "in_doubt", "r1": "in_doubt"}
        doubts = {row.public_id: str(row.process) for row in Message.objects.all()}
        assert doubts["a"] == doubts["r1"] != doubts["b"]
        assert scene.step(doubts["a"], "resolve", committed=True) == "OK"
        assert scene.step(doubts["b"], "resolve", committed=False) == "OK"
        move_files()
        assert scene.folders() == {"Messages": ["b", "r1"], "Log": ["a"]}

    def test_its_answer_is_out_though_it_was_still_to_be_moved_then_it_is_in_doubt(self, scene: Scene) -> None:
        with restored():
            scene.step(process(scene, {"a": "PROCESSED"}, max_files=1), "commit")
            move_files()
            file = file_of(scene, "a", "Log")
            file.rename(file.parent.parent / "Messages" / file.name)
        assert reindexed(scene) == {"a": "in_doubt", "b": "waiting", "r1": "waiting"}

    def test_stopped_half_way_and_run_again_it_forgets_nothing(
        self, scene: Scene, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with restored():
            process(scene, {"a": "PROCESSED"}, max_files=1)
        with monkeypatch.context() as patch:
            patch.setattr(DoubtfulProcesses, "add_answered", _die)
            with pytest.raises(Died):
                call_command("reindex_messages", "--after-restore")
        assert reindexed(scene) == {"a": "in_doubt", "b": "waiting", "r1": "in_doubt"}
        assert ExchangeProcess.objects.filter(status="IN_DOUBT").count() == 1


def time_out(process: str) -> None:
    """Let the time of a process run out, and its files be put aside."""
    ExchangeProcess.objects.filter(pk=process).update(due_at=OLD)
    time_out_once()
    move_files()


def _die(*_: Any, **__: Any) -> None:
    raise Died
