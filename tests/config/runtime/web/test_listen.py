import signal
import socket
import sys
from unittest.mock import Mock

import pytest
from django.db import InterfaceError, OperationalError

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


class TestServe:
    @pytest.fixture(autouse=True)
    def _serves_nobody(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for owner, name in ((signal, "signal"), (sys, "setswitchinterval"), (web, "_allow_open_files")):
            monkeypatch.setattr(owner, name, Mock())
        monkeypatch.setattr(web, "HeartbeatDaemon", Mock())
        monkeypatch.setattr(web, "check_calls", lambda is_served: False)
        monkeypatch.setattr(web._Server, "run", lambda self, sockets: None)

    @pytest.mark.parametrize("error", [None, OperationalError("gone"), InterfaceError("closed")])
    def test_takes_its_row_along_whatever_the_database_says(
        self, error: Exception | None, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        left = Mock(side_effect=error)
        monkeypatch.setattr(web, "stop_serving_calls", left)
        with listen(HOST, find_free_port()) as listener:
            web.serve(listener)
        left.assert_called_once_with()
