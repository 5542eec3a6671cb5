"""Logs are events with fields: JSON where a machine reads them, coloured lines in a terminal."""

import logging
import os
import sys
from typing import Any

import structlog

from config.common.correlation import correlation_id

# Celery's two tell of every single task; what fails is told as an error.
NOISY = (
    "amqp",
    "kombu",
    "asyncio",
    "aiohttp",
    "django.request",
    "celery.worker.strategy",
    "celery.app.trace",
)
PROCESS_VARIABLE = "POSTERN_PROCESS"


def logging_config(level: str) -> None:
    """Send structlog's and the standard library's records through one handler on standard error."""
    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        _add_correlation_id,
        _add_process,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.ExtraAdder(),
        _leave_query_out,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *shared,
            structlog.stdlib.PositionalArgumentsFormatter(),
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(foreign_pre_chain=shared, processors=_rendering(sys.stderr.isatty()))
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    # Six errors with tracebacks for each attempt to connect, which fails into an exception of ours anyway.
    logging.getLogger("pika").setLevel(logging.CRITICAL)
    # One stack trace for each attempt to connect; those who connect say it in a line.
    logging.getLogger("clickhouse_driver.connection").setLevel(logging.ERROR)
    logging.captureWarnings(True)
    for noisy in NOISY:
        logging.getLogger(noisy).setLevel(max(logging.WARNING, root.level))


def _rendering(terminal: bool) -> list[Any]:
    remove = structlog.stdlib.ProcessorFormatter.remove_processors_meta
    if terminal:
        return [remove, structlog.dev.ConsoleRenderer()]
    return [
        remove,
        structlog.processors.format_exc_info,
        structlog.processors.JSONRenderer(ensure_ascii=False),
    ]


def _add_correlation_id(logger: Any, name: str, event: dict[str, Any]) -> dict[str, Any]:
    current = correlation_id()
    if current:
        event.setdefault("correlation_id", current)
    return event


def _leave_query_out(logger: Any, name: str, event: dict[str, Any]) -> dict[str, Any]:
    """Replace the request that Django logs by its method and path: the query may hold secrets."""
    request = event.pop("request", None)
    if request is not None:
        event["call"] = f"{getattr(request, 'method', '')} {getattr(request, 'path', '')}".strip()
    return event


def _add_process(logger: Any, name: str, event: dict[str, Any]) -> dict[str, Any]:
    """Add the name of the supervised process: all of them write to one stream."""
    process = os.environ.get(PROCESS_VARIABLE)
    if process:
        event.setdefault("process", process)
    return event
