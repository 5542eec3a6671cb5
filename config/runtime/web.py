"""The web server: uvicorn on a socket that is bound before anything is started."""

import http.client
import os
import signal
import socket
import threading
import time
from types import FrameType

import structlog
import uvicorn
from django.conf import settings

from config.common.daemon import Daemon
from sensors.heartbeat.hearing import INTERVAL_SECONDS, listen_to_calls

log = structlog.get_logger(__name__)

GRACE_SECONDS = 2
# More than a scheduler in the same process needs to stop, less than the ten seconds a process is given.
LAST_SECONDS = 7.0
BACKLOG = 1024
# A server that was just killed may still hold the port while its last processes end.
PORT_PATIENCE_SECONDS = 2.0


class PortTaken(Exception):
    """The address cannot be listened on."""


def listen(host: str, port: int) -> socket.socket:
    """Bind and listen, or raise `PortTaken` with a sentence for the operator."""
    deadline = time.monotonic() + PORT_PATIENCE_SECONDS
    while True:
        try:
            return _bind(host, port)
        except OSError as error:
            if time.monotonic() > deadline:
                reason = f"cannot listen on {host} port {port} ({error.strerror or error})"
                raise PortTaken(f"Postern {reason}: set PORT or BIND_ADDRESS, or end what uses it.") from error
        time.sleep(0.1)


def _bind(host: str, port: int) -> socket.socket:
    family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    listener = socket.socket(family, kind, protocol)
    try:
        # Connections of the last server that linger in TIME_WAIT must not keep the next one from starting.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(BACKLOG)
    except OSError:
        listener.close()
        raise
    return listener


def serve(listener: socket.socket) -> None:
    """Serve until SIGTERM or SIGINT, then finish the running calls, for two seconds at most, and raise SystemExit."""
    for number in (signal.SIGTERM, signal.SIGINT):
        # Uvicorn puts its own handlers in front and, when it is done, sends itself the signal once more.
        signal.signal(number, _leave)
    server = _Server(
        uvicorn.Config(
            "config.asgi:application",
            lifespan="off",
            log_config=None,
            log_level="warning",
            access_log=False,
            server_header=False,
            # Left to its default, it would believe whatever a caller on the same machine says its address is.
            proxy_headers=bool(settings.FORWARDED_ALLOW_IPS),
            forwarded_allow_ips=[str(network) for network in settings.FORWARDED_ALLOW_IPS],
            backlog=BACKLOG,
            timeout_graceful_shutdown=GRACE_SECONDS,
        )
    )
    log.info("web.started", address="{0[0]}:{0[1]}".format(listener.getsockname()))
    host, port = listener.getsockname()[:2]
    ear = Daemon(lambda: listen_to_calls(lambda: answers(host, port)), INTERVAL_SECONDS, "hearing.calls")
    ear.start()
    try:
        server.run(sockets=[listener])
    finally:
        ear.stop()
        log.info("web.stopped")


def answers(host: str, port: int) -> bool:
    """Say whether a call gets through to the server and is answered: what a sensor would find, not what we think."""
    reachable = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    call = http.client.HTTPConnection(reachable, port, timeout=INTERVAL_SECONDS)
    try:
        call.request("GET", "/healthz")
        return call.getresponse().status == http.HTTPStatus.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        call.close()


class _Server(uvicorn.Server):
    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Shut down, and end the process at last even if a call is stuck in its thread, which Python waits for."""
        end = threading.Timer(LAST_SECONDS, os._exit, [0])
        end.daemon = True
        end.start()
        await super().shutdown(sockets)


def _leave(number: int, frame: FrameType | None) -> None:
    raise SystemExit(0)
