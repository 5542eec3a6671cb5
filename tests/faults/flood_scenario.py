"""What a flood needs: the parties and keys, what the attacks with a right use, and an eye on the server."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

from config.common.background.process_control import die_with_parent
from messaging.simulation.calls import Calls
from tests.faults.product import Product
from tests.faults.wait import wait_until
from tests.processes.workflows.process_files import (
    chain,
    flow,
    named,
    process,
    script,
    service,
    started_by,
    timer,
    user,
)
from tests.servers.private_server import HOST

BIG_REPLY = 1_000_000
LARGE_VARIABLE, LARGE_VERSIONS = 720_000, 15

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
keys["stray"] = key(scopes=["signals:write"])
keys["registrar"] = key(scopes=["registry:read", "registry:write"])
keys["builder"] = key(scopes=["workflows:read", "workflows:write"])
keys["repeater"] = key(scopes=["sessions"])
keys["history"] = key(scopes=["history:read"])
keys["changes"] = key(scopes=["coordination"])
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


def make_world(product: Product) -> dict[str, str]:
    """Return the keys by name."""
    done = product.manage("shell", "-v0", "-c", WORLD)
    assert done.returncode == 0, done.stderr
    keys: dict[str, str] = json.loads(done.stdout)
    return keys


def fill_queue(product: Product, keys: dict[str, str]) -> None:
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


def prepare_attacks(product: Product, keys: Mapping[str, str], hanging_port: int) -> dict[str, str]:
    """Publish what loops, start an instance with large variables, register a theme that hangs; return their names."""
    builder, url = Calls(f"http://{HOST}:{product.port}", keys["builder"]), f"http://{HOST}:{hanging_port}/"
    twice = [service(name, "event", type="&quot;custom.twice&quot;") for name in ("one", "two")]
    pause = [timer("pause", "PT0S")[1], flow("begin", "pause"), flow("pause", "again"), flow("again", "pause")]
    again = script("again", "laps", "1")[1]
    for source in (
        chain("twice", *twice, before=named("custom.twice"), start=started_by()),
        process("lap", '<startEvent id="begin"/>', again, *pause),
        chain("large", user("look")),
    ):
        body = json.dumps({"source": source.decode()}).encode()
        answer = builder.call("POST", "/workflows/definitions/", body)
        assert answer.status == 201, answer
    body = json.dumps({"definition": "large", "variables": {"text": "x" * LARGE_VARIABLE}}).encode()
    instance: str = builder.call("POST", "/workflows/instances/", body).json["id"]
    for number in range(LARGE_VERSIONS):
        command = json.dumps({"command": "set_variables", "variables": {"number": number}}).encode()
        assert builder.call("POST", f"/workflows/instances/{instance}/commands/", command).status == 200
    builder.close()
    repeater = Calls(f"http://{HOST}:{product.port}", keys["repeater"])
    theme = {"theme": 1, "timeout": 10, "repeat_limit": 5, "length_limit": 1000, "delay": 0, "jitter": 0, "url": url}
    answer = repeater.call("POST", "/sessions/themes/", json.dumps(theme).encode())
    assert answer.status == 201, answer
    repeater.close()
    return {"large_instance": instance}


class Watch:
    """The memory of a web process, looked at while it is flooded."""

    def __init__(self, pid: int, port: int) -> None:
        self._pid, self._port = pid, port
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

    def __init__(self, nodes: Sequence[Product], world: Mapping[str, str], way: str, seconds: float) -> None:
        ports = ",".join(str(node.port) for node in nodes)
        self._command = [sys.executable, "-m", "tests.faults.flood", ports, str(seconds), way, json.dumps(dict(world))]
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
