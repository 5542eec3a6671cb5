"""A process that has the libraries loaded and nothing of the product: each run of tests is a fork of it.

A mutant changes the product, so that is loaded anew each time; the libraries are the same for all, and half of what a
run of one test takes. Commands come as lines of JSON, the exit code of each run goes back as a line.
"""

import atexit
import importlib
import json
import os
import signal
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

# What the product and its tests import of others, as far as that works before Django is set up.
LIBRARIES = (
    "aiohttp",
    "asgiref.sync",
    "celery",
    "channels.layers",
    "clickhouse_driver",
    "cryptography.fernet",
    "django.core.handlers.asgi",
    "django.core.management",
    "django.db.models.functions",
    "django.forms",
    "django.template.backends.django",
    "django.test",
    "django.views.generic",
    "lxml.etree",
    "msgspec",
    "openpyxl",
    "pika",
    "prometheus_client",
    "psycopg",
    "psycopg.types.json",
    "pytest",
    "redis",
    "structlog",
    "uvicorn",
    "yaml",
)
POLL_SECONDS = 0.02


def main() -> None:
    for name in LIBRARIES:
        with suppress(ImportError):  # it only saves time
            importlib.import_module(name)
    for line in sys.stdin:
        command = json.loads(line)
        print(_fork(command), flush=True)


def _fork(command: dict[str, Any]) -> int:
    """Run pytest in a fork; return its exit code, -1 where it took longer than it may."""
    child = os.fork()
    if not child:
        _run_tests(command["arguments"], command["environment"], command["log"])
    deadline = time.monotonic() + command["seconds"]
    while time.monotonic() < deadline:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(POLL_SECONDS)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return -1


def _run_tests(arguments: Sequence[str], environment: dict[str, str], log: str) -> None:
    os.setsid()
    nothing, output = os.open(os.devnull, os.O_RDONLY), os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(nothing, 0)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.environ.clear()
    os.environ.update(environment)
    time.tzset()
    import pytest

    code = 3
    try:
        code = int(pytest.main(list(arguments)))
    finally:
        with suppress(BaseException):
            atexit._run_exitfuncs()  # folders of the tests are removed at the end
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    main()
