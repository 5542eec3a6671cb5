"""Programs that call the API as their authors would write them: the page “first call”, and a generated client.

Both make their calls to one product on SQLite, as `make run` starts it.
"""

import hashlib
import hmac
import http.client
import importlib
import json
import os
import re
import subprocess
import sys
import time
from base64 import b64decode, b64encode
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from django.conf import settings

from config.api.first_call import BLOCKS, read_block
from tests.faults.product import ROOT, Product
from tests.faults.wait import wait_until
from tests.servers.private_server import HOST, find_free_port

RECEIVER = "127.0.0.1:9000"
GENERATOR = """\
post_hooks: []
content_type_overrides:
  text/csv: application/octet-stream
  application/vnd.openxmlformats-officedocument.spreadsheetml.sheet: application/octet-stream
  image/svg+xml: text/plain
"""
"""How tables and pictures are taken: the generator knows JSON, text and bytes alone."""


@pytest.fixture(scope="module")
def product(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Product]:
    product = Product(tmp_path_factory.mktemp("product"), WEBHOOK_ALLOWED_NETWORKS="127.0.0.0/8")
    product.copy_prepared()
    product.start()
    try:
        yield product
    finally:
        product.stop()


class Reader:
    """Somebody who types what the page shows, into one shell after the other, with the ports of this run."""

    def __init__(self, product: Product, folder: Path) -> None:
        self.product, self.folder, self.port = product, folder, find_free_port()
        self.variables = {**product.environment, "DATA_DIR": product.environment["DATA_DIR"]}

    def block(self, name: str) -> str:
        text = read_block(name, server=f"http://{HOST}:{self.product.port}")
        # The folder of the installation has the environment; the shell of the reader stands elsewhere.
        text = text.replace(".venv/bin/python manage.py", f"{sys.executable} {ROOT}/manage.py")
        address, port = RECEIVER.split(":")
        return text.replace(RECEIVER, f"{address}:{self.port}").replace(
            f'("{address}", {port})', f'("{address}", {self.port})'
        )

    def type(self, name: str) -> list[Any]:
        """Run the lines of a block; go on with the variables that it has set. Return the answers it printed."""
        ends = f"{self.block(name)}\nenv -0 > variables"
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", ends],
            cwd=self.folder,
            env=self.variables,
            capture_output=True,
            text=True,
            timeout=240,
        )
        assert done.returncode == 0, done.stderr
        kept = (self.folder / "variables").read_text().split("\0")
        self.variables = dict(each.split("=", 1) for each in kept if each)
        return _read_all(done.stdout)

    def program(self, name: str) -> "subprocess.Popen[str]":
        """Save a block under its name and start it."""
        (self.folder / name).write_text(self.block(name))
        return subprocess.Popen(
            [sys.executable, name], cwd=self.folder, env=self.variables, stdout=subprocess.PIPE, text=True
        )


def _read_all(text: str) -> list[Any]:
    """Read JSON values that stand one after the other."""
    decoder, found, place = json.JSONDecoder(), [], 0
    while place < len(text.rstrip()):
        value, place = decoder.raw_decode(text, place + len(text[place:]) - len(text[place:].lstrip()))
        found.append(value)
    return found


class TestFirstCall:
    def test_every_step_of_the_page_does_what_it_says(self, product: Product, tmp_path: Path) -> None:
        reader = Reader(product, tmp_path)
        assert reader.type("key.sh") == []
        client, sensor = reader.type("register.sh")
        assert (client["name"], sensor["clients"]) == ("my program", [client["id"]])
        with reader.program("receive.py") as receiver:
            try:
                answered = self.send_signal(reader, client, receiver)
            finally:
                receiver.terminate()
        with reader.program("call.py") as program:
            printed, _ = program.communicate(timeout=60)
        first, second, third = printed.splitlines()
        assert (first, second) == ("{'accepted': 1, 'rejected': []}", "0")
        assert "sensor_not_found" in third
        assert answered == [204, 401]

    def send_signal(self, reader: Reader, client: Any, receiver: "subprocess.Popen[str]") -> list[int]:
        """Do the step of the page; return what the receiver answers to whoever knows the secret, and to others."""
        assert wait_until(lambda: _post(reader.port, client["secret"], b"{}", seconds_ago=301) == 401, 60)
        accepted, shown, deliveries = reader.type("signal.sh")
        assert accepted == {"accepted": 1, "rejected": []}
        assert (shown["state"], deliveries["results"][0]["type"]) == (1, "sensor.state_changed")
        assert receiver.stdout is not None
        webhook_id, _, body = receiver.stdout.readline().partition(" ")
        assert webhook_id == deliveries["results"][0]["webhook_id"]
        assert "'sensor.state_changed'" in body
        other = f"{client['secret'][:-8]}AAAAAAA="
        return [_post(reader.port, secret, b'{"type": "mine"}') for secret in (client["secret"], other)]

    def test_the_document_shows_the_same_blocks(self) -> None:
        page = (settings.BASE_DIR / "docs" / "first-call.md").read_text()
        assert re.findall(r"```\w+\n(.*?)```", page, re.DOTALL) == [read_block(name) for name in BLOCKS]


def _post(port: int, secret: str, body: bytes, *, seconds_ago: int = 0) -> int:
    """Post a webhook that is signed with a secret; return the status, 0 where nobody listens."""
    at = int(time.time()) - seconds_ago
    digest = hmac.digest(b64decode(secret.removeprefix("whsec_")), f"m1.{at}.".encode() + body, hashlib.sha256)
    signature = f"v1,{b64encode(digest).decode()}"
    headers = {"webhook-id": "m1", "webhook-timestamp": str(at), "webhook-signature": signature}
    caller = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        caller.request("POST", "/", body, headers)
        return caller.getresponse().status
    except OSError:
        return 0
    finally:
        caller.close()


@pytest.fixture(scope="module")
def generated(product: Product, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModuleType]:
    """The client that `openapi-python-client` makes from the document, imported."""
    folder = tmp_path_factory.mktemp("generated")
    document = folder / "openapi.json"
    document.write_text(product.get("/api/v1/schema/?format=json")[1])
    (folder / "config.yaml").write_text(GENERATOR)
    command = ["-m", "openapi_python_client", "generate", "--meta", "none", "--fail-on-warning"]
    places = [
        "--path",
        str(document),
        "--config",
        str(folder / "config.yaml"),
        "--output-path",
        str(folder / "postern"),
    ]
    done = subprocess.run(
        [sys.executable, *command, *places], cwd=folder, env=os.environ, capture_output=True, text=True, timeout=240
    )
    assert done.returncode == 0, done.stdout + done.stderr
    sys.path.insert(0, str(folder))
    try:
        yield importlib.import_module("postern")
    finally:
        sys.path.remove(str(folder))
        for name in [name for name in sys.modules if name.split(".")[0] == "postern"]:
            del sys.modules[name]


class TestGeneratedClient:
    def test_makes_the_first_steps_of_the_readme(self, product: Product, generated: ModuleType) -> None:
        scopes = ["registry:read", "registry:write", "signals:write", "history:read", "coordination"]
        made = product.manage("create_key", "generated", *(word for scope in scopes for word in ("--scope", scope)))
        address = f"http://{HOST}:{product.port}"
        with generated.AuthenticatedClient(base_url=address, token=made.stdout.strip()) as client:
            self.check_signal(client)
            self.check_change(client)

    def check_signal(self, client: Any) -> None:
        """Register a sensor, send a signal, and read both back; an error is parsed like an answer."""
        sensor = call("sensors.sensors_create", client, body=model("SensorRequest")(id="0xG", address="7 Gate Street"))
        assert (sensor.id, sensor.state) == ("0xG", None)
        signal = model("SignalRequest")(sensor_id="0xG", data=model("Bit")(1))
        accepted = call("signals.signals_send", client, body=signal)
        assert (accepted.accepted, accepted.rejected) == (1, [])
        assert call("sensors.sensors_get", client, "0xG").state == 1
        history = call("history.sensors_history", client, "0xG")
        assert [(row.sensor_id, row.data, row.changed) for row in history.results] == [("0xG", 1, True)]
        missing = call("sensors.sensors_get", client, "0xH")
        assert (type(missing).__name__, missing.code) == ("Error", "sensor_not_found")

    def check_change(self, client: Any) -> None:
        """Change something on the Writer and read it from the reader's own database."""
        body = model("CoordinationWriterCreateBodyType0").from_dict({"name": "front door"})
        accepted = call("coordination.coordination_writer_create", client, "dummy-items", body=body)
        rows = call("coordination.coordination_reader_list", client, "dummy-items", wait=accepted.event)
        assert [row["name"] for row in rows.results] == ["front door"]


def call(name: str, client: Any, *path: Any, **fields: Any) -> Any:
    """Make a call of the generated client; return its answer as the client has parsed it."""
    return importlib.import_module(f"postern.api.{name}").sync(*path, client=client, **fields)


def model(name: str) -> Any:
    return getattr(importlib.import_module("postern.models"), name)
