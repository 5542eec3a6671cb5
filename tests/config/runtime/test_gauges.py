import importlib
import json
import re
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone
from prometheus_client import REGISTRY
from prometheus_client.core import Metric

from config.counters import FOLDER_VARIABLE
from config.runtime import metrics
from config.runtime.gauges import Gauge, GaugeCache, read_gauges, to_metrics
from notifications.models import Delivery, Follower, Incident, RepeatSession, Theme
from notifications.services.alerts import acknowledge_alert, raise_alert, resolve_alert
from processes.workflows.models import WorkflowIncident, WorkItem
from sensors.models import Client, OpenDoor, SensorState
from tests.config.dashboard.live.records import make_process
from tests.notifications.sessions.themes import theme as make_theme
from tests.processes.workflows.process_files import chain, timer, user
from tests.processes.workflows.scene import Scene
from tests.sensors.registry import make_client, make_delivery, make_sensor

ROOT = Path(__file__).parents[3]
APPS = ("config", "messaging", "notifications", "processes", "sensors")
SUFFIXES = {"counter": ["_total"], "histogram": ["_bucket", "_sum", "_count"], "info": ["_info"]}


PENDING, OLDEST = "postern_deliveries_pending", "postern_deliveries_oldest_pending_seconds"


def read() -> dict[str, float]:
    """Return each gauge by its name and labels; of an age whether there is one."""
    found = {gauge.name + "".join(f"/{value}" for _, value in gauge.labels): gauge.value for gauge in read_gauges()}
    return {**found, OLDEST: float(found[OLDEST] > 0)}


def lose_a_sensor() -> None:
    make_sensor("0xLost")
    SensorState.objects.filter(pk="0xLost").update(seen_at=timezone.now(), lost_at=timezone.now())


def leave_a_door_open(minutes: int = -1) -> None:
    now, id = timezone.now(), f"0xOpen{minutes}".replace("-", "m")
    make_sensor(id, open_limit=60)
    OpenDoor.objects.create(sensor_id=id, opened_at=now, limit_at=now + timedelta(minutes=minutes), heard_at=now)


def deliver(**fields: Any) -> None:
    client = Client.objects.first() or make_client()
    row = make_delivery(f"0x{Delivery.objects.count()}", client, **fields)
    Delivery.objects.filter(pk=row.pk).update(created_at=timezone.now() - timedelta(minutes=1))


def alert(subject: str, move: Callable[[int, str], object] | None = None) -> None:
    pk = raise_alert("test", subject, "Something")
    if move is not None:
        move(pk, "staff:olga")


def set_aside(position: int, **fields: Any) -> None:
    follower, _ = Follower.objects.get_or_create(name="workflows")
    Incident.objects.create(follower=follower, position=position, type="t", subject="s", event={}, error="e", **fields)


def save_session(status: str, **fields: Any) -> None:
    theme = Theme.objects.first() or make_theme()
    RepeatSession.objects.create(theme=theme, status=status, length=2, record_count=0, save_number=1, **fields)


def wait_for_a_person(kind: str = "user", **fields: Any) -> None:
    head = Scene().begin(chain("p", user("a")))
    WorkItem.objects.filter(instance=head.id).update(kind=kind, **fields)


def stop_a_workflow(**fields: Any) -> None:
    head = Scene().begin(chain("q", timer("t", "PT1H")))
    WorkflowIncident.objects.create(instance_id=head.id, about="x", command={}, opened_at=timezone.now(), **fields)


ONE_MORE: dict[str, Callable[[], Any]] = {
    "postern_sensors_lost": lose_a_sensor,
    "postern_sensors_left_open": leave_a_door_open,
    PENDING: deliver,
    OLDEST: deliver,
    "postern_deliveries_dead": lambda: deliver(status="dead", due_at=None),
    "postern_alerts/open": lambda: alert("a"),
    "postern_alerts/acknowledged": lambda: alert("b", acknowledge_alert),
    "postern_follower_incidents": lambda: set_aside(1),
    "postern_sessions_exhausted": lambda: save_session("exhausted"),
    "postern_exchange_in_doubt": lambda: make_process("IN_DOUBT", name="doubtful"),
    "postern_exchange_failed": lambda: make_process("FAILED", name="failed"),
    "postern_workflow_tasks": wait_for_a_person,
    "postern_workflow_incidents": stop_a_workflow,
}
BESIDE = {PENDING: {OLDEST: 1}, OLDEST: {PENDING: 1}}
"""What the row of a gauge makes beside it."""
OVER: tuple[Callable[[], Any], ...] = (
    lambda: leave_a_door_open(minutes=5),
    lambda: deliver(status="delivered", due_at=None),
    lambda: alert("c", resolve_alert),
    lambda: set_aside(2, resolved_at=timezone.now(), resolution="done"),
    lambda: save_session("saved", due_at=timezone.now()),
    lambda: make_process("DONE", name="done"),
    lambda: wait_for_a_person(kind="external"),
    lambda: wait_for_a_person(status="done", closed_by=2),
    lambda: stop_a_workflow(status="resolved", resolved_at=timezone.now()),
)
"""What is over, or nobody's business: no gauge has it."""


@pytest.mark.embedded
@pytest.mark.django_db
class TestReadGauges:
    def test_an_empty_installation_has_nothing_to_do(self) -> None:
        assert set(read().values()) == {0}

    def test_every_one_has_a_row_here(self) -> None:
        assert read().keys() == ONE_MORE.keys()

    @pytest.mark.parametrize("name", ONE_MORE)
    def test_each_counts_its_own(self, name: str) -> None:
        ONE_MORE[name]()
        assert {other: value for other, value in read().items() if value} == {**BESIDE.get(name, {}), name: 1}

    def test_all_count_at_once_what_is_not_over(self) -> None:
        for make in (*ONE_MORE.values(), *OVER):
            make()
        found = read()
        assert [name for name, value in found.items() if not value] == []
        assert {name: value for name, value in found.items() if value != 1} == {PENDING: 2}

    def test_the_age_is_that_of_the_oldest_that_is_pending(self) -> None:
        client, now = make_client(), timezone.now()
        for sensor, hours in (("0xA", 1), ("0xB", 0), ("0xC", 5)):
            delivery = make_delivery(sensor, client)
            Delivery.objects.filter(pk=delivery.pk).update(created_at=now - timedelta(hours=hours))
        Delivery.objects.filter(subject="sensor/0xC").update(status="dead", due_at=None)
        assert 3590 < next(gauge.value for gauge in read_gauges() if gauge.name == OLDEST) < 3660

    def test_with_several_processes_each_number_stands_once(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        make_sensor("0xA")
        SensorState.objects.update(seen_at=timezone.now(), lost_at=timezone.now())
        monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
        monkeypatch.setattr(metrics, "GAUGES", GaugeCache())
        monkeypatch.setattr(metrics, "engine_states", lambda: {"database": "ok"})
        text = metrics.render_metrics().decode()
        assert re.findall(r"^postern_sensors_lost .*$", text, re.MULTILINE) == ["postern_sensors_lost 1.0"]

    def test_takes_few_queries(self, django_assert_max_num_queries: Any) -> None:
        with django_assert_max_num_queries(12):
            read_gauges()


class TestGaugeCache:
    def test_reads_once_for_all_who_ask_within_its_time(self, in_threads: Any) -> None:
        reads: list[int] = []

        def read() -> list[Gauge]:
            reads.append(1)
            time.sleep(0.05)  # as long as a read takes: the others ask meanwhile
            return [Gauge("x", "", len(reads))]

        cache = GaugeCache(read, seconds=60)
        assert in_threads(lambda _: cache.get()[0].value, 8) == [1] * 8

    def test_reads_again_when_its_time_is_over(self) -> None:
        values = iter([1, 2])
        cache = GaugeCache(lambda: [Gauge("x", "", next(values))], seconds=0)
        assert [cache.get()[0].value for _ in range(2)] == [1, 2]


@pytest.fixture
def boards() -> dict[str, Any]:
    return {path.name: json.loads(path.read_text()) for path in (ROOT / "docs/grafana").glob("*.json")}


def exported_names(families: list[Metric]) -> set[str]:
    return {family.name + suffix for family in families for suffix in SUFFIXES.get(family.type, [""])}


@pytest.mark.embedded
@pytest.mark.django_db
class TestDashboards:
    def test_every_metric_that_they_name_exists(self, boards: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
        for path in (path for app in APPS for path in (ROOT / app).rglob("*.py")):
            if "prometheus_client" in path.read_text():
                importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))
        monkeypatch.setattr(metrics, "engine_states", lambda: {"database": "ok"})
        known = exported_names([*REGISTRY.collect(), *metrics._Now().collect()])
        named = {
            name
            for board in boards.values()
            for panel in board["panels"]
            for target in panel["targets"]
            for name in re.findall(r"postern_[a-z_]+", target["expr"])
        }
        assert named
        assert named <= known, named - known

    def test_every_gauge_stands_in_one_of_them(self, boards: dict[str, Any]) -> None:
        text = json.dumps(boards)
        assert [family.name for family in to_metrics(read_gauges()) if family.name not in text] == []

    def test_can_be_imported_as_they_are(self, boards: dict[str, Any]) -> None:
        assert len({board["uid"] for board in boards.values()}) == len(boards) == 4
        for board in boards.values():
            numbers = [panel["id"] for panel in board["panels"]]
            assert len(set(numbers)) == len(numbers)
            assert all(panel["datasource"]["uid"] == "${datasource}" for panel in board["panels"])
