from datetime import datetime, timedelta
from ipaddress import ip_network
from typing import Any

import pytest
from asgiref.testing import ApplicationCommunicator
from django.test import AsyncClient, Client
from django.utils import timezone

from config.access.keys import create_key
from config.asgi import application
from config.runtime import health, views

pytestmark = pytest.mark.embedded

STATES = {"database": "ok", "amqp": "off", "redis": "off", "clickhouse": "off"}


async def call(path: str, method: str = "GET", host: bytes = b"localhost") -> tuple[int, bytes, dict[bytes, bytes]]:
    """Call the whole ASGI application, limits included."""
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "scheme": "http",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "headers": [(b"host", host)],
        "client": ("10.1.2.3", 5000),
    }
    caller: Any = ApplicationCommunicator(application, scope)  # type: ignore[no-untyped-call]
    await caller.send_input({"type": "http.request", "body": b""})
    start = await caller.receive_output(60)
    body, more = b"", True
    while more:
        part = await caller.receive_output(60)
        body, more = body + part["body"], part.get("more_body", False)
    await caller.wait(60)
    return start["status"], body, dict(start["headers"])


class TestHealthz:
    async def test_answers_without_database_and_whatever_host_it_is_called_by(self) -> None:
        status, body, headers = await call("/healthz", host=b"10.0.0.5:8000")
        assert (status, body) == (200, b"ok")
        assert b"x-correlation-id" in headers

    async def test_a_head_call_has_no_body(self) -> None:
        status, body, headers = await call("/healthz", "HEAD")
        assert (status, body, headers[b"content-length"]) == (200, b"", b"2")

    async def test_is_also_a_page_of_django(self) -> None:
        assert (await AsyncClient().get("/healthz")).content == b"ok"


class TestReadyz:
    @pytest.fixture
    def states(self, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
        found = dict(STATES)
        monkeypatch.setattr(views, "engine_states", lambda: found)
        return found

    async def test_tells_the_state_of_every_engine(self, states: dict[str, str]) -> None:
        status, body, headers = await call("/readyz", host=b"10.0.0.5:8000")
        assert (status, headers[b"content-type"]) == (200, b"application/json")
        assert body == b'{"database": "ok", "amqp": "off", "redis": "off", "clickhouse": "off"}'

    async def test_only_the_database_takes_the_node_out_of_service(self, states: dict[str, str]) -> None:
        states.update(amqp="down", redis="down", clickhouse="down")
        assert (await call("/readyz"))[0] == 200
        states.update(database="down")
        assert (await call("/readyz"))[0] == 503


@pytest.mark.django_db
class TestMetrics:
    @pytest.fixture(autouse=True)
    def _states(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(health._states, "get", lambda: dict(STATES))

    def get(self, client: Client, key: str = "", **headers: str) -> Any:
        authorization = {"authorization": f"Bearer {key}"} if key else {}
        return client.get("/metrics", headers={**authorization, **headers})

    def make_key(self, *scopes: str) -> str:
        return create_key(name="prometheus", actor="test", scopes=scopes)[1]

    def test_needs_a_key(self, client: Client) -> None:
        assert self.get(client).status_code == 401

    def test_needs_the_scope(self, client: Client) -> None:
        assert self.get(client, self.make_key("registry:read")).status_code == 403

    def test_is_text_for_a_key_with_the_scope(self, client: Client) -> None:
        answer = self.get(client, self.make_key("operations"), accept="application/openmetrics-text;version=1.0.0")
        assert answer.status_code == 200
        assert answer["content-type"].startswith("text/plain; version=")
        assert 'postern_engine_up{engine="database"} 1.0' in answer.text
        assert "postern_http_requests_total" in answer.text

    def test_needs_no_key_from_an_allowed_network(self, client: Client, settings: Any) -> None:
        settings.METRICS_ALLOWED_NETWORKS = (ip_network("127.0.0.0/8"),)
        assert self.get(client).status_code == 200

    def test_another_network_needs_a_key(self, client: Client, settings: Any) -> None:
        settings.METRICS_ALLOWED_NETWORKS = (ip_network("10.0.0.0/8"),)
        assert self.get(client).status_code == 401

    def test_counts_calls_by_route_method_and_kind_of_answer(self, client: Client, settings: Any) -> None:
        settings.METRICS_ALLOWED_NETWORKS = (ip_network("127.0.0.1"),)
        client.generic("BREW", "/no/such/page/17")
        text = self.get(client).text
        assert 'postern_http_requests_total{method="other",route="none",status="4xx"}' in text
        assert "/no/such/page" not in text

    def test_tells_how_far_each_follower_is_behind(self, client: Client, settings: Any) -> None:
        settings.METRICS_ALLOWED_NETWORKS = (ip_network("127.0.0.1"),)
        assert "# TYPE postern_follower_lag gauge" in self.get(client).text

    def test_tells_how_far_each_reader_is_behind(self, client: Client, settings: Any) -> None:
        settings.METRICS_ALLOWED_NETWORKS = (ip_network("127.0.0.1"),)
        assert 'postern_reader_lag_seconds{reader="main"} 0.0' in self.get(client).text


@pytest.mark.django_db(transaction=True)
class TestMetricsByAddress:
    async def test_may_be_called_by_the_nodes_own_address(self, settings: Any) -> None:
        settings.METRICS_ALLOWED_NETWORKS = (ip_network("10.0.0.0/8"),)
        status, body, _ = await call("/metrics", host=b"10.0.0.5:8000")
        assert (status, b"postern_engine_up" in body) == (200, True)


class TestSecurityTxt:
    def test_names_whom_to_write_to_and_does_not_run_out(self, client: Client, settings: Any) -> None:
        settings.ADMIN_EMAIL = "olga@example.org"
        answer = client.get("/.well-known/security.txt")
        lines = dict(line.split(": ", 1) for line in answer.content.decode().splitlines())
        assert (answer.status_code, answer["Content-Type"]) == (200, "text/plain; charset=utf-8")
        assert lines["Contact"] == "mailto:olga@example.org"
        assert lines["Canonical"] == "http://127.0.0.1:8000/.well-known/security.txt"
        left = datetime.fromisoformat(lines["Expires"]) - timezone.now()
        assert timedelta(days=179) < left <= timedelta(days=180)

    def test_without_an_address_the_installation_itself_is_the_contact(self, client: Client, settings: Any) -> None:
        settings.ADMIN_EMAIL = None
        assert b"Contact: http://127.0.0.1:8000/\n" in client.get("/.well-known/security.txt").content
