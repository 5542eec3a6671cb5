"""The well-behaved, at work beside a flood: sensors, a device, an ERP and a person in the admin, and their times."""

import http.client
import itertools
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from messaging.simulation.calls import Answer, Calls
from processes.exchange.reference.client import Server
from processes.exchange.reference.erp import Ending, exchange_once
from processes.exchange.reference.ledger import open_store
from tests.faults.product import PASSWORD, Product
from tests.servers.private_server import HOST


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
        browser = http.client.HTTPConnection(HOST, self._port, timeout=60)
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

    def __init__(self, nodes: Sequence[Product], keys: Mapping[str, str]) -> None:
        """Have them call the nodes in turns: sensors and the ERP the first, the device and the person the last."""
        self._keys = keys
        self._store = nodes[0].folder / "erp.sqlite3"
        self._first, self._last = (f"http://{HOST}:{node.port}" for node in (nodes[0], nodes[-1]))
        self._port = nodes[-1].port
        self._person = Person(self._port)
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

    def _calls(self, url: str, name: str, times: Times) -> TimedCalls:
        calls = TimedCalls(url, self._keys[name])
        calls.times = times
        return calls

    def _be_sensors(self, times: Times, stop: threading.Event) -> None:
        calls = self._calls(self._first, "sensors", times)
        while not stop.wait(0.05):
            calls.call("POST", "/signals/", b'{"sensor_id":"0xA","data":1}')
        calls.close()

    def _be_device(self, times: Times, stop: threading.Event) -> None:
        calls = self._calls(self._last, "phone", times)
        while not stop.wait(0.1):
            calls.call("POST", "/messages/", b'{"version":1,"to":"erp","payload":{"account":"a","amount":1}}')
            for message in calls.call("GET", "/messages/").json["messages"]:
                calls.call("POST", f"/messages/{message['id']}/confirm/", b'{"version":1}')
        calls.close()

    def _be_erp(self, times: Times, stop: threading.Event) -> None:
        server, store = Server(self._first, ""), open_store(str(self._store))
        server._calls = self._calls(self._first, "erp", times)
        while not stop.wait(0.2):
            outcome = exchange_once(server, store)
            if outcome.ending not in (Ending.DONE, Ending.IDLE, Ending.BUSY):
                times.failures.append(f"{outcome.ending} {outcome.text}")
        server._calls.close()
        store.close()

    def _be_person(self, times: Times, stop: threading.Event) -> None:
        times.measure(Person(self._port).sign_in)
        while not stop.wait(0.2):
            times.measure(self._person.look)
