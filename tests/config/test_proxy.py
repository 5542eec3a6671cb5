"""The product behind Debian's nginx, with the configuration that compose.yaml uses."""

import http.client
import json
import re
import socket
import ssl
from collections.abc import Iterator
from contextlib import ExitStack, closing
from http.cookies import SimpleCookie
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import psycopg
import pytest
from websockets.sync.client import connect
from websockets.typing import Origin

from config.runtime.connections import KEEP_ALIVE_SECONDS
from tests.conftest import ServerAddresses
from tests.faults.product import Product, migrated_database
from tests.faults.wait import wait_until
from tests.servers.nginx import NAME, NginxServer
from tests.servers.private_server import HOST

pytestmark = pytest.mark.slow

PASSWORD = "correct-horse-battery"
FORGED = "203.0.113.5"
HEADER_SECONDS = 1
CONNECTIONS, BURST = 100, 400
"""Of one address, as the configuration has them."""
SLOW_RATE = "1r/m"
"""What comes after the burst: so little that no test is long enough for one more."""
TEMPLATE = Path(__file__).parents[2] / "config" / "proxy" / "nginx.conf.template"
BODY_COMES = b"POST /api/v1/signals/ HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\nExpect: 100-continue\r\n\r\n"


class Behind:
    """The product, and the nginx that stands before it."""

    def __init__(self, nginx: NginxServer, product: Product) -> None:
        self.nginx, self.product = nginx, product
        self.tls = ssl.create_default_context(cafile=str(nginx.certificate))

    def call(
        self, method: str, path: str, body: bytes = b"", headers: Any = None, *, source: str = HOST
    ) -> tuple[int, Any, bytes]:
        (answer,) = self.calls(1, method, path, body, headers, source=source)
        return answer

    def calls(
        self, number: int, method: str, path: str, body: bytes = b"", headers: Any = None, *, source: str = HOST
    ) -> list[tuple[int, Any, bytes]]:
        """Call so often, one after the other on one connection."""
        caller = http.client.HTTPSConnection(
            NAME, self.nginx.port, timeout=60, source_address=(source, 0), context=self.tls
        )
        answers = []
        with closing(caller):
            for _ in range(number):
                caller.request(method, path, body, headers or {})
                answer = caller.getresponse()
                answers.append((answer.status, answer.headers, answer.read()))
        return answers

    def begin(self, source: str) -> ssl.SSLSocket:
        """Have a call under way whose body is waited for."""
        line = socket.create_connection((HOST, self.nginx.port), timeout=60, source_address=(source, 0))
        secure = self.tls.wrap_socket(line, server_hostname=NAME)
        secure.sendall(BODY_COMES)
        assert secure.recv(100).startswith(b"HTTP/1.1 100 ")
        return secure

    def sign_in(self, password: str, **headers: str) -> tuple[int, SimpleCookie]:
        token = cookies_of(self.call("GET", "/admin/login/")[1])["__Host-csrftoken"].value
        form = urlencode({"username": "admin", "password": password, "csrfmiddlewaretoken": token})
        headers |= {"Cookie": f"__Host-csrftoken={token}", "Referer": f"{self.nginx.url}/admin/login/"}
        headers["Content-Type"] = "application/x-www-form-urlencoded"
        status, found, _ = self.call("POST", "/admin/login/", form.encode(), headers)
        return status, cookies_of(found)


def cookies_of(headers: Any) -> SimpleCookie:
    cookies = SimpleCookie()
    for line in headers.get_all("Set-Cookie", []):
        cookies.load(line)
    return cookies


@pytest.fixture(scope="module")
def behind(servers: ServerAddresses, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Behind]:
    folder = tmp_path_factory.mktemp("proxy")
    with migrated_database(servers.database) as database:
        product = Product(folder, DATABASE_URL=database, ADMIN_PASSWORD=PASSWORD)
        nginx = NginxServer(product.port, header_seconds=HEADER_SECONDS, call_rate=SLOW_RATE)
        product.environment |= {"PUBLIC_URL": nginx.url, "FORWARDED_ALLOW_IPS": "127.0.0.1"}
        product.environment["METRICS_ALLOWED_NETWORKS"] = "127.0.0.0/8"
        product.copy_template()
        product.prepare()
        product.process = product.spawn("run_web", log=folder / "up.log")
        try:
            assert wait_until(lambda: product.get("/healthz")[0] == 200, 60), product.read_log()
            with nginx:
                yield Behind(nginx, product)
        finally:
            product.kill()


class TestUpstream:
    @pytest.mark.embedded
    def test_its_idle_connections_are_ended_before_the_product_ends_them(self) -> None:
        (upstream,) = re.findall(r"^upstream postern \{$(.*?)^\}$", TEMPLATE.read_text(), re.MULTILINE | re.DOTALL)
        (seconds,) = re.findall(r"^ *keepalive_timeout (\d+)s;$", upstream, re.MULTILINE)
        assert 0 < int(seconds) <= KEEP_ALIVE_SECONDS - 1


class TestNginx:
    def test_a_person_signs_in_and_the_live_page_has_its_socket(self, behind: Behind) -> None:
        status, cookies = behind.sign_in(PASSWORD)
        assert (status, cookies["__Host-sessionid"]["secure"]) == (302, True)
        header = f"__Host-sessionid={cookies['__Host-sessionid'].value}"
        socket_url = behind.nginx.url.replace("https", "wss") + "/ws/dashboard/"
        with connect(
            socket_url, ssl=behind.tls, origin=Origin(behind.nginx.url), additional_headers={"Cookie": header}
        ) as opened:
            assert json.loads(opened.recv(timeout=60))["type"] == "snapshot"

    def test_what_a_caller_says_of_its_address_is_not_believed(self, behind: Behind) -> None:
        forged = {"X-Forwarded-For": FORGED, "X-Real-IP": FORGED, "Forwarded": f"for={FORGED}"}
        assert behind.sign_in("wrong", **forged)[0] == 200
        with psycopg.connect(behind.product.environment["DATABASE_URL"]) as database:
            found = database.execute("SELECT address FROM records_signinattempt WHERE name = 'admin'").fetchall()
        assert {address for (address,) in found} == {"127.0.0.1", ""}

    def test_metrics_are_not_for_the_world(self, behind: Behind) -> None:
        assert behind.product.get("/metrics")[0] == 200
        assert behind.call("GET", "/metrics")[0] == 404

    @pytest.mark.parametrize(
        ("path", "limit"),
        [
            ("/api/v1/sensors/", 2**20),
            ("/api/v1/messages/", 21 * 2**20),
            ("/api/v1/exchange/processes/00000000-0000-4000-8000-000000000000/prepare/", 21 * 2**20),
            ("/api/v1/sensors/import/", 10 * 2**20 + 65_536),
        ],
    )
    def test_bodies_have_the_limits_of_the_product(self, behind: Behind, path: str, limit: int) -> None:
        assert behind.call("POST", path, b"x" * limit)[0] == 401
        status, headers, body = behind.call("POST", path, b"x" * (limit + 1))
        told = json.loads(body)
        assert (status, told["code"], told["data"]) == (413, "too_large", {"limit": limit})
        assert headers["X-Correlation-ID"]

    def test_a_head_that_drips_is_cut(self, behind: Behind) -> None:
        with (
            socket.create_connection(("127.0.0.1", behind.nginx.port), timeout=60) as line,
            behind.tls.wrap_socket(line, server_hostname=NAME) as secure,
        ):
            secure.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n")
            assert secure.recv(100) in (b"", b"HTTP/1.1 408")

    def test_a_head_that_is_too_large_is_refused(self, behind: Behind) -> None:
        assert behind.call("GET", "/healthz", headers={"X-Large": "x" * 16_400})[0] == 400

    def test_plain_http_leads_to_https(self, behind: Behind) -> None:
        caller = http.client.HTTPConnection("127.0.0.1", behind.nginx.http_port, timeout=60)
        caller.request("GET", "/admin/", headers={"Host": NAME})
        answer = caller.getresponse()
        caller.close()
        assert (answer.status, answer.headers["Location"]) == (301, f"{behind.nginx.url}/admin/")

    def test_a_flood_of_sign_ins_is_told_to_come_back(self, behind: Behind) -> None:
        answers = [behind.call("GET", "/admin/login/") for _ in range(60)]
        assert_throttled(next(answer for answer in answers if answer[0] == 429))

    def test_one_call_past_the_burst_of_an_address_is_told_to_come_back_and_no_other_address(
        self, behind: Behind
    ) -> None:
        *answers, refused = behind.calls(1 + BURST + 1, "GET", "/healthz", source="127.0.0.2")
        assert {status for status, _, _ in answers} == {200}
        assert_throttled(refused)
        assert behind.call("GET", "/healthz", source="127.0.0.3")[0] == 200

    def test_one_connection_too_many_of_an_address_is_told_so_until_another_ends(self, behind: Behind) -> None:
        def call(source: str) -> tuple[int, Any, bytes]:
            return behind.call("GET", "/healthz", source=source)

        with ExitStack() as stack:
            lines = [stack.enter_context(behind.begin("127.0.0.4")) for _ in range(CONNECTIONS - 1)]
            assert call("127.0.0.4")[0] == 200
            lines.append(stack.enter_context(behind.begin("127.0.0.4")))
            assert_throttled(call("127.0.0.4"))
            assert call("127.0.0.5")[0] == 200
            lines.pop().close()
            assert wait_until(lambda: call("127.0.0.4")[0] == 200, 60)


def assert_throttled(answer: tuple[int, Any, bytes]) -> None:
    status, headers, body = answer
    assert (status, headers["Retry-After"]) == (429, "1")
    assert headers["X-Correlation-ID"]
    assert json.loads(body)["code"] == "throttled"
