"""A flood of hostile connections, with and without keys, while devices, an ERP, sensors and a person work beside it."""

import http.client
import itertools
import json
import os
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from config.common.background.process_control import die_with_parent
from messaging.simulation.calls import Answer, Calls
from processes.exchange.reference.client import Server
from processes.exchange.reference.erp import Ending, exchange_once
from processes.exchange.reference.ledger import open_store
from tests.faults.flood import WAYS
from tests.faults.product import Product
from tests.faults.silent_servers import SilentServer
from tests.faults.wait import wait_until
from tests.servers.private_server import HOST

pytestmark = [pytest.mark.xdist_group("embedded"), pytest.mark.timeout(400)]

SCALE = float(os.environ.get("DRILL_SCALE", "0.05"))
SECONDS = max(6.0, 60 * SCALE)
MOST_MEMORY_MB = 400
QUIET_SECONDS = 10.0
FLOOR_SECONDS, FLOOR_ALONE = 2.0, 0.25
# Calls that are allowed take their part of the processor, each in its turn: those are for the flood alone.
ALONE = sorted(set(WAYS) - {"flood", "small_calls", "pipeline"})
ALONE_SMALL = ["brackets", "drip_body", "guesses", "slow_reader"]
PASSWORD = "correct-horse-battery"
BIG_REPLY = 1_000_000

WORLD = """
import json
from config.access.keys import create_key
from messaging.services.databases import create_database
from messaging.services.devices import create_device
from messaging.services.enterprises import create_enterprise
from messaging.services.subsystems import create_subsystem
from sensors.services.clients import create_client
from sensors.services.sensors import create_sensor

def key(**named):
    return create_key(name="drill", actor="drill", **named)[1]

create_sensor(sensor_id="0xA", address="Gate 7", actor="drill")
client = create_client(name="desk", url="https://desk.example/hook", actor="drill").client_id
keys = {"sensors": key(scopes=["signals:write"]), "service": key(scopes=["registry:read"])}
keys["history"] = key(scopes=["history:read"])
keys["client"] = key(kind="client", subject=str(client))
create_enterprise(enterprise_id="acme", name="Acme", actor="drill")
create_subsystem(subsystem_id="sales", enterprise="acme", name="Sales", actor="drill")
for name in ("erp", "other-erp"):
    keys[name] = create_database(database_id=name, enterprise="acme", name=name, actor="drill").text
for name in ("phone", "other-phone"):
    keys[name] = create_device(
        device_id=name, enterprise="acme", subsystem="sales", name=name, actor="drill"
    ).text
print(json.dumps(keys))
"""


@dataclass
class Times:
    """How long the calls of the well-behaved took, and what went wrong."""

    took: list[float] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    def measure(self, call: Callable[[], Any]) -> Any:
        began = time.monotonic()
        try:
            return call()
        except Exception as error:  # noqa: BLE001  (whatever it is, it is a caller that was not served)
            self.failures.append(repr(error))
        finally:
            self.took.append(time.monotonic() - began)

    def within(self, share: float) -> float:
        """Return how long that share of the calls took at most."""
        return sorted(self.took)[int(len(self.took) * share)]


class TimedCalls(Calls):
    times: Times

    def call(self, method: str, path: str, body: bytes | None = None) -> Answer:
        answer: Answer | None = self.times.measure(lambda: super(TimedCalls, self).call(method, path, body))
        if answer is None:
            raise AssertionError("the call failed")
        return answer


class Person:
    """Staff in the admin: signs in, then looks at pages."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._cookies: dict[str, str] = {}
        self._pages = itertools.cycle(("/admin/", "/admin/sensors/sensor/", "/admin/messaging/message/"))

    def sign_in(self) -> None:
        self._page("GET", "/admin/login/")
        form = {"username": "admin", "password": PASSWORD, "csrfmiddlewaretoken": self._cookies["csrftoken"]}
        assert self._page("POST", "/admin/login/", urlencode(form)) == 302

    def look(self) -> None:
        path = next(self._pages)
        assert self._page("GET", path) == 200, path

    def _page(self, method: str, path: str, body: str = "") -> int:
        browser = http.client.HTTPConnection(HOST, self._port, timeout=30)
        try:
            cookie = "; ".join(f"{name}={value}" for name, value in self._cookies.items())
            headers = {"Cookie": cookie, "Content-Type": "application/x-www-form-urlencoded"}
            browser.request(method, path, body, headers)
            answer = browser.getresponse()
            answer.read()
            for kept in answer.headers.get_all("Set-Cookie", []):
                name, _, value = kept.partition(";")[0].partition("=")
                self._cookies[name] = value
            return answer.status
        finally:
            browser.close()


class Everyday:
    """Sensors, a device, an ERP and a person at work."""

    def __init__(self, product: Product, keys: dict[str, str]) -> None:
        self._product, self._keys = product, keys
        self._store = product.folder / "erp.sqlite3"
        self._url = f"http://{HOST}:{product.port}"
        self._person = Person(product.port)
        self._person.sign_in()

    def run(self, seconds: float) -> dict[str, Times]:
        """Let all of them work side by side for so long; return their times."""
        times = {name: Times() for name in ("sensors", "device", "erp", "person")}
        stop = threading.Event()
        roles = [
            threading.Thread(target=getattr(self, f"_be_{name}"), args=(kept, stop)) for name, kept in times.items()
        ]
        for role in roles:
            role.start()
        time.sleep(seconds)
        stop.set()
        for role in roles:
            role.join()
        return times

    def _calls(self, name: str, times: Times) -> TimedCalls:
        calls = TimedCalls(self._url, self._keys[name])
        calls.times = times
        return calls

    def _be_sensors(self, times: Times, stop: threading.Event) -> None:
        calls = self._calls("sensors", times)
        while not stop.wait(0.05):
            calls.call("POST", "/signals/", b'{"sensor_id":"0xA","data":1}')
        calls.close()

    def _be_device(self, times: Times, stop: threading.Event) -> None:
        calls = self._calls("phone", times)
        while not stop.wait(0.1):
            calls.call("POST", "/messages/", b'{"version":1,"to":"erp","payload":{"account":"a","amount":1}}')
            for message in calls.call("GET", "/messages/").json["messages"]:
                calls.call("POST", f"/messages/{message['id']}/confirm/", b'{"version":1}')
        calls.close()

    def _be_erp(self, times: Times, stop: threading.Event) -> None:
        server, store = Server(self._url, ""), open_store(str(self._store))
        server._calls = self._calls("erp", times)
        while not stop.wait(0.2):
            outcome = exchange_once(server, store)
            if outcome.ending not in (Ending.DONE, Ending.IDLE, Ending.BUSY):
                times.failures.append(f"{outcome.ending} {outcome.text}")
        server._calls.close()
        store.close()

    def _be_person(self, times: Times, stop: threading.Event) -> None:
        times.measure(Person(self._product.port).sign_in)
        while not stop.wait(0.2):
            times.measure(self._person.look)


@pytest.fixture
def product(tmp_path: Path) -> Iterator[Product]:
    made = Product(tmp_path, ADMIN_PASSWORD=PASSWORD, LOG_LEVEL="ERROR")
    made.prepare()
    yield made
    if made.process is not None:
        made.kill()


def test_nobody_notices_a_flood_but_the_flood(product: Product, capsys: pytest.CaptureFixture[str]) -> None:
    keys = _make_world(product)
    product.start()
    _fill_queue(product, keys)
    everyday = Everyday(product, keys)
    everyday.run(1.0)  # all are known from here on
    calm = everyday.run(SECONDS / 2)
    watch = Watch(product)
    with flooded(product, keys, "flood", SECONDS + 2) as flood:
        time.sleep(1.0)
        busy = everyday.run(SECONDS)
    memory = watch.stop()
    with capsys.disabled():
        _report(calm, busy, memory, flood)
    assert {name: times.failures for name, times in busy.items() if times.failures} == {}
    assert memory < MOST_MEMORY_MB
    for name, times in busy.items():
        # Nine in ten, and two seconds: a flood of calls that are allowed takes its part of the processor, as they do.
        usual, found = calm[name].within(0.99), times.within(0.9)
        assert found <= max(2 * usual, usual + FLOOR_SECONDS), f"{name}: {usual:.3f} s without, {found:.3f} s with it"
    assert wait_until(lambda: watch.connections() == 0, QUIET_SECONDS)
    after = everyday.run(1.0)
    assert all(not times.failures for times in after.values())


def test_no_attack_alone_slows_the_others(product: Product, capsys: pytest.CaptureFixture[str]) -> None:
    keys = _make_world(product)
    product.start()
    _fill_queue(product, keys)
    everyday = Everyday(product, keys)
    everyday.run(1.0)
    seconds = max(2.0, 15 * SCALE)
    slower: dict[str, str] = {}
    for way in ALONE if SCALE >= 1 else ALONE_SMALL:
        calm = everyday.run(seconds)
        with flooded(product, keys, way, seconds + 2) as attack:
            time.sleep(1.0)
            busy = everyday.run(seconds)
        with capsys.disabled():
            print(
                f"\n{way}:", {name: f"{_ratio(calm[name], times):.1f}" for name, times in busy.items()}, attack.answers
            )
        assert {name: times.failures for name, times in busy.items() if times.failures} == {}, way
        if SCALE < 1:  # a few seconds beside the rest of the suite say nothing about times
            continue
        slower |= {
            f"{way}: {name}": f"{calm[name].within(0.99):.3f} s without, {times.within(0.9):.3f} s with it"
            for name, times in busy.items()
            if times.within(0.9) > max(2 * calm[name].within(0.99), calm[name].within(0.99) + FLOOR_ALONE)
        }
    assert slower == {}


def _ratio(calm: Times, busy: Times) -> float:
    """How many times longer the slowest in a hundred calls took."""
    return busy.within(0.99) / calm.within(0.99)


def test_forty_questions_to_a_silent_history_cost_no_signal(product: Product) -> None:
    keys = _make_world(product)
    with SilentServer() as mute, ThreadPoolExecutor(40) as desk:
        product.environment["CLICKHOUSE_URL"] = f"clickhouse://default@{HOST}:{mute.port}/default"
        product.start()
        asked = [desk.submit(_ask_often, product, keys["history"]) for _ in range(40)]
        signals = [
            product.call("POST", "/api/v1/signals/", {"sensor_id": "0xA", "data": 1}, key=keys["sensors"])[0]
            for _ in range(30)
        ]
        answers = Counter(status for each in asked for status in each.result())
        product.kill()  # before the engine that it waits for is closed
    assert signals == [202] * 30
    assert set(answers) == {503}
    assert mute.connections, "history was asked"


def _ask_often(product: Product, key: str) -> list[int]:
    return [product.call("GET", "/api/v1/sensors/0xA/history/", key=key)[0] for _ in range(5)]


def _make_world(product: Product) -> dict[str, str]:
    done = product.manage("shell", "-v0", "-c", WORLD)
    assert done.returncode == 0, done.stderr
    keys: dict[str, str] = json.loads(done.stdout)
    return keys


class Watch:
    """The memory of the server, looked at while it is flooded."""

    def __init__(self, product: Product) -> None:
        assert product.process is not None
        self._pid, self._port = product.process.pid, product.port
        self._most = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._look)
        self._thread.start()

    def stop(self) -> int:
        """Return the most it had, in MB."""
        self._stop.set()
        self._thread.join()
        return self._most

    def connections(self) -> int:
        """How many are open at the server's end; those it has closed itself linger a while in the system's books."""
        here = f":{self._port:04X}"
        rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
        return sum(row[1].endswith(here) and row[3] in ("01", "08") for row in rows)

    def _look(self) -> None:
        while not self._stop.wait(0.1):
            lines = Path(f"/proc/{self._pid}/status").read_text().splitlines()
            self._most = max(self._most, int(next(line for line in lines if line.startswith("VmRSS")).split()[1]) >> 10)


class flooded:
    """Run an attack beside the block, with all keys but those of the well-behaved; afterwards, what it was answered."""

    def __init__(self, product: Product, keys: dict[str, str], way: str, seconds: float) -> None:
        used = [keys[name] for name in ("service", "client", "other-phone", "other-erp")]
        self._command = [sys.executable, "-m", "tests.faults.flood", str(product.port), str(seconds), way, *used]
        self.answers: dict[str, dict[str, int]] = {}

    def __enter__(self) -> "flooded":
        tests = os.getpid()
        self._process = subprocess.Popen(
            self._command, stdout=subprocess.PIPE, preexec_fn=lambda: die_with_parent(tests)
        )
        return self

    def __exit__(self, *_: object) -> None:
        said, _unsaid = self._process.communicate(timeout=240)
        self.answers = json.loads(said)


def _fill_queue(product: Product, keys: dict[str, str]) -> None:
    """Leave 20 MB waiting for the device of the flood: an answer that is large enough to be read slowly."""
    erp = Calls(f"http://{HOST}:{product.port}", keys["other-erp"])
    device = Calls(f"http://{HOST}:{product.port}", keys["other-phone"])
    for number in range(4):
        device.call("POST", "/messages/", b'{"version":1,"to":"other-erp","payload":1}')
        started = erp.call("POST", "/exchange/processes/", b'{"version":1}').json
        message = started["messages"][0]
        reply = {"id": f"big-{number}", "to": "other-phone", "reply_to": message["id"], "payload": "x" * BIG_REPLY}
        results = [{"message": message["id"], "status": "PROCESSED"}]
        body = json.dumps({"version": 1, "results": results, "replies": [reply]}).encode()
        path = f"/exchange/processes/{started['process_id']}"
        erp.call("POST", f"{path}/accept/", json.dumps({"version": 1, "messages": [message["id"]]}).encode())
        assert erp.call("POST", f"{path}/prepare/", body).json["status"] == "OK"
        assert erp.call("POST", f"{path}/commit/", b'{"version":1}').json["status"] == "OK"
        assert wait_until(lambda: erp.call("POST", "/exchange/processes/", b'{"version":1}').json["status"] == "IDLE")
    erp.close()
    device.close()


def _report(calm: dict[str, Times], busy: dict[str, Times], memory: int, flood: flooded) -> None:
    print(f"\nflood of {SECONDS:.0f} s: at most {memory} MB")
    for name, times in busy.items():
        usual = calm[name]
        figures = [f"{kept.within(share) * 1000:.0f}" for share in (0.5, 0.9, 0.99) for kept in (usual, times)]
        print(f"{name}: p50 {figures[0]} -> {figures[1]}, p90 {figures[2]} -> {figures[3]}, ", end="")
        print(f"p99 {figures[4]} -> {figures[5]} ms ({len(times.took)} calls)")
    for name, answers in flood.answers.items():
        print(f"  {name}: {answers}")
