import os
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.selection import refuse_servers_for_embedded, select

ROOT = Path(__file__).resolve().parents[1]


@dataclass
class Item:
    """What the rules read of a test."""

    nodeid: str
    marks: set[str] = field(default_factory=set)
    fixturenames: tuple[str, ...] = ()
    config: Any = field(default_factory=lambda: SimpleNamespace(rootpath=ROOT))

    @property
    def path(self) -> Path:
        return ROOT / self.nodeid

    def get_closest_marker(self, name: str) -> str | None:
        return name if name in self.marks else None


CALL = Item("tests/sensors/api/call.py", {"embedded", "django_db"})
PAGE = Item("tests/sensors/admin/page.py", {"embedded", "django_db"})
SERVICE = Item("tests/sensors/services/service.py", {"embedded"}, ("db",))
PURE = Item("tests/sensors/ingest/pure.py", {"embedded"})
PLANNER = Item("tests/sensors/ingest/planner.py", {"django_db"})
DRILL = Item("tests/faults/drill.py", fixturenames=("servers",))
LONG = Item("tests/sensors/services/long.py", {"embedded", "django_db", "slow"})
ALL = [CALL, PAGE, SERVICE, PURE, PLANNER, DRILL, LONG]


def chosen(items: list[Item], monkeypatch: pytest.MonkeyPatch, *, variable: str, profile: str = "") -> list[Item]:
    """Return what a run takes, in its order."""
    for name in ("SUITE", "QUICK"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(variable, "1")
    monkeypatch.setenv("TEST_PROFILE", profile)
    taken: Any = list(items)
    config: Any = SimpleNamespace(hook=SimpleNamespace(pytest_deselected=lambda items: None))
    select(config, taken)
    return list(taken)


class TestSelect:
    def test_what_runs_on_both_databases_is_below_calls_and_pages(self, monkeypatch: pytest.MonkeyPatch) -> None:
        on_postgres = chosen(ALL, monkeypatch, variable="SUITE")
        embedded = [item for item in ALL if "embedded" in item.marks]
        on_sqlite = chosen(embedded, monkeypatch, variable="SUITE", profile="embedded")
        assert on_postgres == [DRILL, LONG, CALL, SERVICE, PURE, PLANNER]
        assert on_sqlite == [LONG, PAGE, SERVICE]

    def test_every_test_runs_somewhere(self, monkeypatch: pytest.MonkeyPatch) -> None:
        on_postgres = chosen(ALL, monkeypatch, variable="SUITE")
        embedded = [item for item in ALL if "embedded" in item.marks]
        on_sqlite = chosen(embedded, monkeypatch, variable="SUITE", profile="embedded")
        assert [item for item in ALL if item not in on_postgres + on_sqlite] == []

    def test_quick_is_what_needs_no_server_and_no_patience(self, monkeypatch: pytest.MonkeyPatch) -> None:
        assert chosen(ALL, monkeypatch, variable="QUICK", profile="embedded") == [CALL, PAGE, SERVICE, PURE]


class TestRefuseServersForEmbedded:
    def test_names_the_test(self) -> None:
        wrong: Any = Item("tests/sensors/ingest/wrong.py", {"embedded"}, ("servers",))
        with pytest.raises(pytest.UsageError, match=wrong.nodeid):
            refuse_servers_for_embedded([wrong])

    def test_a_drill_may_have_them(self) -> None:
        drill: Any = DRILL
        try:
            refuse_servers_for_embedded([drill])
        except pytest.UsageError as refused:
            pytest.fail(str(refused))


@pytest.fixture(scope="module")
def shared() -> str:
    return "set up once in a run"


def test_what_shares_a_fixture_of_its_module_stays_in_one_worker(shared: str, request: pytest.FixtureRequest) -> None:
    """pytest-xdist deals out by what stands behind the @."""
    alone = "PYTEST_XDIST_WORKER" not in os.environ
    assert request.node.nodeid.rpartition("::")[2] == request.function.__name__ + (
        "" if alone else f"@{request.path.relative_to(ROOT)}"
    )
