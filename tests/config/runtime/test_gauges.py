import importlib
import json
import re
import time
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
from notifications.models import Delivery
from notifications.services.alerts import raise_alert
from sensors.models import OpenDoor, SensorState
from tests.sensors.registry import make_client, make_delivery, make_sensor

ROOT = Path(__file__).parents[3]
APPS = ("config", "messaging", "notifications", "processes", "sensors")
SUFFIXES = {"counter": ["_total"], "histogram": ["_bucket", "_sum", "_count"], "info": ["_info"]}


def read() -> dict[str, float]:
    return {gauge.name + "".join(f"/{value}" for _, value in gauge.labels): gauge.value for gauge in read_gauges()}


@pytest.mark.embedded
@pytest.mark.django_db
class TestReadGauges:
    def test_an_empty_installation_has_nothing_to_do(self) -> None:
        assert set(read().values()) == {0}

    def test_counts_sensors_deliveries_and_alerts(self) -> None:
        now = timezone.now()
        make_sensor("0xA", open_limit=60)
        SensorState.objects.update(seen_at=now, lost_at=now)
        OpenDoor.objects.create(sensor_id="0xA", opened_at=now, limit_at=now - timedelta(seconds=1), heard_at=now)
        client = make_client()
        make_delivery("0xA", client)
        make_delivery("0xB", client)
        make_delivery("0xC", client, status="dead", due_at=None)
        Delivery.objects.filter(subject="sensor/0xA").update(created_at=now - timedelta(hours=1))
        raise_alert("test", "sensor/0xA", "Something")
        found = read()
        assert 3590 < found.pop("postern_deliveries_oldest_pending_seconds") < 3660
        assert {name: value for name, value in found.items() if value} == {
            "postern_sensors_lost": 1,
            "postern_sensors_left_open": 1,
            "postern_deliveries_pending": 2,
            "postern_deliveries_dead": 1,
            "postern_alerts/open": 1,
        }

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
