"""A plugin in a folder of its own, made by what the documentation says, to the letter."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured

from processes.coordination.schema.entities import ENTITIES
from processes.coordination.schema.plugin_entities import plugin_entities
from tests.faults.product import ROOT, Product, copy_template

pytestmark = pytest.mark.embedded

ENTITY = (ROOT / "processes/coordination/README.md").read_text().split("## An entity")[1].split("\n## ")[0]
HANDLERS = (ROOT / "docs/plugins.md").read_text()


def code_of(page: str) -> str:
    [code] = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    return str(code)


def write_plugin(folder: Path, name: str, code: str) -> None:
    (folder / name).mkdir(parents=True)
    (folder / name / "__init__.py").touch()
    (folder / name / "plugin.py").write_text(code)


def manage(folder: Path, *arguments: str, plugins: str = "doors") -> subprocess.CompletedProcess[str]:
    variables = {"PLUGINS": plugins, "PYTHONPATH": str(folder), "DATA_DIR": str(folder / "data")}
    return subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], "HOME": str(folder), "LANG": "C.UTF-8", **variables},
        capture_output=True,
        text=True,
        timeout=280,
    )


@pytest.fixture
def product(tmp_path: Path) -> Iterator[Product]:
    product = Product(tmp_path, PLUGINS="doors", PYTHONPATH=str(tmp_path), ADMIN_PASSWORD="only for this test")
    yield product
    product.stop()


class TestEntity:
    def test_the_documentation_leads_to_rows_on_both_sides(self, product: Product, tmp_path: Path) -> None:
        write_plugin(tmp_path, "doors", code_of(ENTITY))
        made = manage(tmp_path, "makemigrations", "doors")
        assert made.returncode == 0, made.stderr
        product.copy_template()
        product.prepare()
        product.start()
        key = product.manage("create_key", "desk", "--scope", "coordination").stdout.strip()

        def call(method: str, path: str, body: Any = None) -> tuple[int, Any]:
            return product.call(method, f"/api/v1/coordination/{path}", body, key=key)

        status, accepted = call("POST", "writer/doors/", {"name": "front door"})
        assert status == 202, accepted
        row = {"id": accepted["id"], "name": "front door", "sensor": None}
        assert call("GET", f"reader/doors/{row['id']}/?wait={accepted['event']}") == (200, row)
        status, refused = call("POST", "writer/doors/", {"name": "back door", "sensor": "0xNone"})
        assert (status, list(refused["data"]["fields"])) == (400, ["sensor"])
        status, refused = call("POST", "writer/doors/", {"colour": "red"})
        assert (status, list(refused["data"]["fields"])) == (400, ["colour"])
        status, changed = call("PATCH", f"writer/doors/{row['id']}/", {"name": "gate"})
        assert call("GET", f"reader/doors/?wait={changed['event']}")[1]["results"] == [{**row, "name": "gate"}]
        status, gone = call("DELETE", f"writer/doors/{row['id']}/")
        assert call("GET", f"reader/doors/?wait={gone['event']}")[1]["results"] == []

    def test_a_changed_order_stops_before_it_does_harm(self, tmp_path: Path) -> None:
        write_plugin(tmp_path, "doors", code_of(ENTITY))
        write_plugin(tmp_path, "gates", code_of(ENTITY).replace("Door", "Gate").replace("doors", "gates"))
        both = "doors,gates"
        assert manage(tmp_path, "makemigrations", "doors", "gates", plugins=both).returncode == 0
        copy_template(tmp_path / "data", with_database=True)
        assert manage(tmp_path, "prepare", plugins=both).returncode == 0
        swapped = manage(tmp_path, "prepare", plugins="gates,doors")
        assert swapped.returncode != 0
        assert "number 16 of the types of events is DoorMain.Insert and would become GateMain.Insert" in swapped.stderr

    @pytest.mark.parametrize(
        ("slip", "told"),
        [
            (('path="doors"', 'path="sensors"'), "entity Door of doors: its path must be its own"),
            (('"Door"', '"ReaderDoor"'), "entity ReaderDoor of doors: its name must be its own"),
            (('refers="Sensor"', 'refers="Lock"'), "column sensor refers to Lock"),
            (('refers="Sensor"', 'refers="SensorLink"'), "column sensor refers to SensorLink"),
            (("models.CharField, max_length=50", "models.DurationField"), "a DurationField is not one of"),
        ],
    )
    def test_a_slip_is_told_at_the_start(
        self, monkeypatch: pytest.MonkeyPatch, slip: tuple[str, str], told: str
    ) -> None:
        declared: dict[str, Any] = {}
        exec(code_of(ENTITY).replace(*slip), declared)
        monkeypatch.setattr(f"{plugin_entities.__module__}.find_declared", lambda name: [("doors", declared[name])])
        with pytest.raises(ImproperlyConfigured, match=f"PLUGINS: .*{told}"):
            list(plugin_entities([entity for entity in ENTITIES if not entity.app]))


class TestHandlers:
    def test_those_of_the_documentation_are_registered(self, tmp_path: Path) -> None:
        write_plugin(tmp_path, "doors", code_of(HANDLERS))
        listed = manage(
            tmp_path,
            "shell",
            "--no-imports",
            "--command",
            "from notifications.sessions import handlers; from processes.workflows.services import jobs; "
            "print(handlers.registered_handlers(), jobs.registered_handlers())",
        )
        assert listed.stdout.strip().endswith("['doors.report', 'incidents'] ['doors.unlock']"), listed


class TestVariable:
    def test_names_the_module_that_is_missing(self, tmp_path: Path) -> None:
        failed = manage(tmp_path, "check", plugins="nowhere")
        [line] = failed.stderr.strip().splitlines()
        assert line.startswith("PLUGINS: ")
        assert line.endswith("there is no module nowhere.plugin")
