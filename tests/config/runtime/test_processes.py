from pathlib import Path
from typing import Any

import pytest
import yaml
from django.core.management import get_commands

from config.environment.read import read_environment
from config.runtime.processes import PROCESSES, Process, needed_processes

ROOT = Path(__file__).resolve().parents[3]
each_process = pytest.mark.parametrize("process", PROCESSES, ids=lambda process: process.name)


class TestNeeded:
    def test_without_a_broker_one_process_does_it_all(self) -> None:
        assert needed_processes(read_environment({"DATABASE_URL": "postgresql://u@h/n"})) == ()

    def test_with_all_engines_every_process_is_needed(self) -> None:
        variables = {
            "DATABASE_URL": "postgresql://u@h/n",
            "AMQP_URL": "amqp://h",
            "REDIS_URL": "redis://h",
            "CLICKHOUSE_URL": "clickhouse://h",
        }
        assert needed_processes(read_environment(variables)) == PROCESSES


class TestTable:
    @each_process
    def test_every_process_is_a_command(self, process: Process) -> None:
        assert process.command in get_commands()

    def test_the_web_server_is_stopped_first(self) -> None:
        assert PROCESSES[0].name == "web"


class TestCompose:
    @pytest.fixture
    def services(self) -> dict[str, Any]:
        loaded: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"]
        return loaded

    @each_process
    def test_every_process_is_a_service(self, process: Process, services: dict[str, Any]) -> None:
        assert services[process.name]["command"] == ["python", "manage.py", process.command]
        assert services[process.name]["depends_on"]["prepare"]["condition"] == "service_completed_successfully"

    @pytest.mark.parametrize("engine", ["postgres", "rabbitmq", "redis", "clickhouse"])
    def test_every_engine_is_checked_and_keeps_its_data(self, engine: str, services: dict[str, Any]) -> None:
        assert "healthcheck" in services[engine]
        assert services[engine]["volumes"]
