import socket

import pytest

from config.runtime import web
from config.runtime.web import PortTaken, listen
from tests.servers.private_server import HOST, find_free_port


class TestListen:
    @pytest.fixture(autouse=True)
    def _impatient(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(web, "PORT_PATIENCE_SECONDS", 0.2)

    def test_accepts_connections_before_anyone_serves_them(self) -> None:
        port = find_free_port()
        with listen(HOST, port), socket.create_connection((HOST, port)) as caller:
            assert caller.getpeername() == (HOST, port)

    def test_a_port_in_use_is_told_in_one_line_that_names_it(self) -> None:
        port = find_free_port()
        with socket.create_server((HOST, port)), pytest.raises(PortTaken) as taken:
            listen(HOST, port)
        assert f"port {port}" in str(taken.value)
        assert "\n" not in str(taken.value)

    def test_an_address_of_another_machine_is_told_too(self) -> None:
        with pytest.raises(PortTaken, match=r"cannot listen on 192\.0\.2\.1"):
            listen("192.0.2.1", find_free_port())
