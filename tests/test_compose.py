"""What `compose.yaml` promises, read as it stands; the engines themselves are started by their own images."""

import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.conf import settings
from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import AuthenticationError, ConnectionError
from redis.retry import Retry

from tests.faults.wait import wait_until
from tests.servers.packages import get_program
from tests.servers.private_server import HOST, find_free_port

COMPOSE = Path(__file__).resolve().parents[1] / "compose.yaml"
DOCKERFILE = COMPOSE.with_name("Dockerfile")
SERVICES: dict[str, Any] = yaml.safe_load(COMPOSE.read_text())["services"]
WRITABLE = {"rabbitmq", "clickhouse"}


@pytest.mark.parametrize("name", SERVICES)
class TestEveryService:
    def test_has_no_capability_but_those_it_starts_with(self, name: str) -> None:
        service = SERVICES[name]
        assert service["cap_drop"] == ["ALL"]
        assert service["security_opt"] == ["no-new-privileges:true"]
        assert set(service.get("cap_add", ())) <= {"CHOWN", "DAC_OVERRIDE", "FOWNER", "SETGID", "SETUID"}

    def test_writes_to_its_volumes_alone(self, name: str) -> None:
        assert SERVICES[name].get("read_only", False) == (name not in WRITABLE)

    def test_is_reached_through_the_proxy_alone(self, name: str) -> None:
        assert ("ports" in SERVICES[name]) == (name == "proxy")

    def test_can_be_pinned_to_a_digest(self, name: str) -> None:
        if SERVICES[name]["image"] != "postern":
            assert re.match(r"\$\{[A-Z]+_IMAGE:-", SERVICES[name]["image"])
            return
        named = dict(re.findall(r"^ARG ([A-Z]+_IMAGE)=(.+)$", DOCKERFILE.read_text(), re.MULTILINE))
        assert SERVICES[name]["build"]["args"] == {arg: f"${{{arg}:-{tag}}}" for arg, tag in named.items()}


def default_of(text: str) -> str:
    return text.partition(":-")[2].rstrip("}")


class TestProxy:
    def test_is_the_only_one_that_is_believed(self) -> None:
        address = SERVICES["proxy"]["networks"]["default"]["ipv4_address"]
        assert default_of(SERVICES["web"]["environment"]["FORWARDED_ALLOW_IPS"]) == address

    def test_takes_bodies_as_large_as_the_product(self) -> None:
        limits = {limit for pattern, limit in settings.BODY_LIMITS if "messages" in pattern or "prepare" in pattern}
        environment = SERVICES["proxy"]["environment"]
        given = {int(default_of(environment[name])) for name in ("MESSAGE_BODY_BYTES", "EXCHANGE_BODY_BYTES")}
        assert given == limits


class TestRedis:
    def test_answers_nobody_without_its_password(self) -> None:
        port = find_free_port()
        # Options follow the name of the configuration, which is standard input.
        server = f"{shlex.quote(get_program('redis-server'))} - --bind {HOST} --port {port} --save ''"
        line = SERVICES["redis"]["command"][2].replace("$$", "$")
        line = line.replace("docker-entrypoint.sh redis-server -", server)
        environment = {"PATH": "/usr/bin:/bin", "REDIS_PASSWORD": "secret"}
        with subprocess.Popen(["sh", "-c", line], env=environment, stdout=subprocess.DEVNULL) as process:
            try:
                assert wait_until(lambda: ask(port, "secret") == "PONG", 60)
                assert ask(port, None) == "NOAUTH"
            finally:
                process.terminate()


def ask(port: int, password: str | None) -> str:
    with Redis(host=HOST, port=port, password=password, retry=Retry(NoBackoff(), 0)) as client:
        try:
            return "PONG" if client.ping() else ""
        except AuthenticationError:
            return "NOAUTH"
        except ConnectionError:
            return ""
