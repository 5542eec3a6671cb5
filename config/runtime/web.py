"""The web server: uvicorn on a socket that is bound before anything is started."""

import http.client
import os
import resource
import secrets
import signal
import socket
import sys
import threading
import time
from typing import Any

import structlog
import uvicorn
from django.conf import settings
from django.db import Error as DatabaseError

from config.common.background.daemon import Daemon, release_connections
from config.common.web.limits.callers import known_callers
from config.common.web.limits.lanes import HEARING
from config.runtime.connections import KEEP_ALIVE_SECONDS, MAX_SOCKET_BYTES, Connection, WebSocket
from config.runtime.heartbeat import HeartbeatDaemon
from sensors.heartbeat.ingest_liveness import INTERVAL_SECONDS, check_calls, stop_serving_calls

log = structlog.get_logger(__name__)

GRACE_SECONDS = 2
# More than a scheduler in the same process needs to stop, less than the ten seconds a process is given.
LAST_SECONDS = 7.0
LAST_CHECK_SECONDS = INTERVAL_SECONDS + 0.5
BACKLOG = 1024
SWITCH_SECONDS = 0.001
"""How long a thread that computes keeps the interpreter while others wait for it: five times shorter than usual, for a
call that is short takes its turn many times, each time behind every call that is long."""
OTHER_FILES = 500
"""Open files beside the connections: of message files, bodies, engines and logs."""
# A server that was just killed may still hold the port while its last processes end.
PORT_PATIENCE_SECONDS = 2.0
# Opens nothing: by it the process knows its own calls among the strangers'.
_OWN_KEY = f"Own {secrets.token_urlsafe(32)}"


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
        signal.signal(number, lambda number, frame: sys.exit(0))
    sys.setswitchinterval(SWITCH_SECONDS)
    server = _Server(make_config("config.asgi:application"))
    _allow_open_files(settings.WEB_CONNECTIONS + OTHER_FILES)
    log.info("web.started", address="{0[0]}:{0[1]}".format(listener.getsockname()))
    host, port = listener.getsockname()[:2]
    liveness = Daemon(lambda: check_calls(lambda: answers(host, port)), INTERVAL_SECONDS, "hearing.calls")
    liveness.start()
    heartbeat = HeartbeatDaemon()
    heartbeat.start()
    try:
        server.run(sockets=[listener])
    finally:
        liveness.stop()
        heartbeat.stop()
        heartbeat.join(1.0)
        if liveness.join(LAST_CHECK_SECONDS):  # or it would write the row anew
            _leave()
        log.info("web.stopped")


def _leave() -> None:
    """Let the other web servers go on at once without this one; if the database is away they find it silent."""
    try:
        stop_serving_calls()
    except DatabaseError as error:
        log.warning("web.not_left", error=str(error))
    finally:
        release_connections(broken=True)


def make_config(app: Any) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        lifespan="off",
        log_config=None,
        log_level="warning",
        access_log=False,
        server_header=False,
        # Left to its default, it would believe whatever a caller on the same machine says its address is.
        proxy_headers=bool(settings.FORWARDED_ALLOW_IPS),
        forwarded_allow_ips=[str(network) for network in settings.FORWARDED_ALLOW_IPS],
        http=Connection,
        ws=WebSocket,
        ws_max_size=MAX_SOCKET_BYTES,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        backlog=BACKLOG,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )


def _allow_open_files(needed: int) -> None:
    """Raise the limit of open files that the system's defaults leave low; each connection is one."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < needed:
        log.warning("web.few_files", needed=needed, most=hard, remedy="raise `ulimit -Hn` or lower WEB_CONNECTIONS")
        needed = hard
    if soft != resource.RLIM_INFINITY and soft < needed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))


def answers(host: str, port: int) -> bool:
    """Return whether a call gets through to the server and is answered, as a sensor would find it.

    It needs one of the slots that a signal needs, as a caller that is known: where those are refused, nobody is heard.
    """
    reachable = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    call = http.client.HTTPConnection(reachable, port, timeout=INTERVAL_SECONDS)
    try:
        known_callers.remember(_OWN_KEY.encode(), "hearing")
        call.request("GET", HEARING, headers={"Authorization": _OWN_KEY})
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
