"""A scenario of one exchange between a device and an ERP, all in one process, which survives one injected fault."""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.db import connection
from django.test import Client

from config.common.background.work import get_work
from messaging.files.names import name_of
from messaging.files.paths import folder_path
from messaging.models import Message
from messaging.simulation.calls import Answer, Calls, NoAnswer, Refused
from messaging.simulation.devices import Device
from messaging.simulation.journal import Journal
from processes.exchange.models import ExchangeProcess
from processes.exchange.reference.client import Server
from processes.exchange.reference.erp import Ending, exchange_once, recover
from processes.exchange.reference.hooks import Hooks
from processes.exchange.reference.ledger import Deadlock, IncorrectMessage, count_effects, open_store
from processes.exchange.services.operations import retry_process
from tests.faults.fault_injection import FaultInjector, ProcessKilled
from tests.processes.exchange.scene import Scene, gather

WORK = ("exchange.moves", "messages.moves", "exchange.timeouts")
ROUNDS = 12


class CallsInProcess(Calls):
    """The far side of the network is the product in this process; when it dies, the caller gets no answer."""

    def __init__(self, key: str, injector: FaultInjector) -> None:
        self._key, self._injector = key, injector

    def call(self, method: str, path: str, body: bytes | None = None) -> Answer:
        headers = {"Authorization": f"Bearer {self._key}"}
        try:
            with self._injector.at_work():
                client = Client(raise_request_exception=False)
                response: Any = client.generic(
                    method, f"/api/v1{path}", body or b"", content_type="application/json", headers=headers
                )
                content = gather(response.streaming_content) if response.streaming else response.content
                self._injector.step("answer")
        except ProcessKilled as killed:
            connection.close()
            raise NoAnswer("the server died") from killed
        if response.status_code >= 500:
            raise NoAnswer(f"status {response.status_code}")
        said = json.loads(content) if content else None
        if response.status_code >= 400:
            raise Refused(response.status_code, said["code"], said["message"])
        return Answer(response.status_code, said)

    def repeat(self, method: str, path: str, body: bytes | None = None, *, times: int, pause: float) -> Answer:
        return super().repeat(method, path, body, times=times, pause=0)

    def close(self) -> None:
        """There is no connection."""


class Dice(Hooks):
    """One message is incorrect, one deadlocks the first time, the others are fine."""

    def __init__(self) -> None:
        self._deadlocked = False

    def applied(self, process_id: str, message: Any) -> None:
        if message["payload"]["amount"] == 2:
            raise IncorrectMessage("no such article", 17)
        if message["payload"]["amount"] == 3 and not self._deadlocked:
            self._deadlocked = True
            raise Deadlock("injected")


class Scenario:
    def __init__(self, name: str, folder: Path, injector: FaultInjector) -> None:
        self.scene, self.injector = Scene(name), injector
        calls = CallsInProcess(self.scene.keys[self.scene.device.pk], injector)
        self.device = Device(self.scene.device.pk, calls, Journal(folder / f"{name}.journal"))
        self.store = open_store(str(folder / f"{name}.erp"))
        self.server = Server("http://127.0.0.1:1", "", pause=0)
        self.server._calls = CallsInProcess(self.scene.keys[self.scene.database.pk], injector)
        self.hooks = Dice()

    def run(self) -> None:
        """One whole exchange: four messages, one of each fate, and what follows from them."""
        for amount in (1, 2, 3, 4):
            self.device.send(self.scene.database.pk, {"account": "a", "amount": amount})
        for _ in range(2):
            exchange_once(self.server, self.store, hooks=self.hooks)
            self.work()
            self.device.collect()

    def recover(self) -> None:
        """Everything starts again and goes on by the document, until nothing is left to do."""
        for _ in range(ROUNDS):
            answered = self.device.resend()
            ending = self._exchange()
            if ending == Ending.BUSY:
                self._let_time_pass()
            self.work()
            if self.device.collect() and answered and ending == Ending.IDLE:
                return
        raise AssertionError(f"not at rest after {ROUNDS} rounds: {ending}")

    def work(self) -> None:
        """What workers and the scheduler do."""
        for name in WORK:
            try:
                with self.injector.at_work():
                    self._run_work(get_work(name).run_once)
            except ProcessKilled:
                connection.close()
        for process in ExchangeProcess.objects.filter(database=self.scene.database, status="FAILED"):
            retry_process(process_id=process.pk, actor="operator")

    def check(self) -> None:
        """Nothing lost, nothing twice, every file in its place, every row true."""
        accepted = {id for (id,) in self.device.journal._run("SELECT id FROM sent WHERE accepted_at IS NOT NULL")}
        assert len(accepted) == 4
        incorrect = Message.objects.filter(database=self.scene.database, status="incorrect")
        wrong = set(incorrect.values_list("public_id", flat=True))
        assert len(wrong) == 1
        assert count_effects(self.store) == Counter(accepted - wrong)
        assert self._replies() == Counter(accepted - wrong)
        assert self.device.journal.totals().came_back == 0
        self._check_files()

    def close(self) -> None:
        self.store.close()

    def _exchange(self) -> Ending:
        try:
            recover(self.server, self.store)
        except NoAnswer:
            return Ending.NO_ANSWER
        return exchange_once(self.server, self.store, hooks=self.hooks).ending

    def _run_work(self, run_once: Callable[[], bool]) -> None:
        self.injector.step("task")
        for _ in range(20):
            if not _survives(run_once):
                return

    def _let_time_pass(self) -> None:
        """Let the time of a process run out whose answer the ERP never got, and leases of the dead end."""
        ExchangeProcess.objects.filter(database=self.scene.database, due_at__isnull=False).update(
            due_at="2020-01-01T00:00:00Z"
        )

    def _replies(self) -> Counter[str]:
        rows = self.device.journal._run("SELECT reply_to FROM fetched WHERE confirmed_at IS NOT NULL")
        return Counter(reply_to for (reply_to,) in rows)

    def _check_files(self) -> None:
        rows = Message.objects.filter(database=self.scene.database)
        assert not rows.exclude(moving_from="").exists()
        belongs = {(row.folder, name_of(row)) for row in rows}
        assert {folder for folder, _ in belongs} <= {"Log", "Error"}
        lies = {
            (folder, path.name)
            for folder in Message.Folder.values
            for path in folder_path(self.scene.database.pk, folder).glob("*.json")
        }
        assert lies == belongs


def _survives(run_once: Callable[[], bool]) -> bool:
    """Run a piece of work as the daemon does: an error is for the next turn."""
    try:
        return run_once()
    except Exception:  # noqa: BLE001
        connection.close()
        return False
