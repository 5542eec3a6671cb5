"""What Prometheus reads: counters of this node's processes, and gauges read at the moment of the call."""

import os
import time
from collections.abc import Callable, Iterator
from typing import Any

from asgiref.sync import iscoroutinefunction
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils import timezone
from django.utils.decorators import sync_and_async_middleware
from prometheus_client import REGISTRY, CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, InfoMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector

from config.common.web.limits.calls import HEAD_ALONE
from config.counters import FOLDER_VARIABLE
from config.runtime.gauges import GaugeCache, to_metrics
from config.runtime.health import engine_states
from config.version import VERSION
from notifications.selectors import follower_lags
from processes.coordination.selectors import reader_lags

GAUGES = GaugeCache()
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})

REQUESTS = Counter("postern_http_requests", "Answered calls", ["method", "route", "status"])
SECONDS = Histogram(
    "postern_http_request_seconds",
    "Time to answer a call",
    ["method", "route"],
    buckets=(0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10),
)


def render_metrics() -> bytes:
    """Return everything as Prometheus text; with several processes their counters are summed."""
    now = CollectorRegistry()
    now.register(_Now())
    if not os.environ.get(FOLDER_VARIABLE):
        return generate_latest(REGISTRY) + generate_latest(now)
    processes = CollectorRegistry()
    MultiProcessCollector(processes)  # type: ignore[no-untyped-call]
    return generate_latest(processes) + generate_latest(now)


class _Now:
    def collect(self) -> Iterator[Metric]:
        yield InfoMetricFamily("postern", "The version that this node runs", {"version": VERSION})
        states = engine_states()
        engines = GaugeMetricFamily("postern_engine_up", "Whether a configured engine answers", labels=["engine"])
        for engine, state in states.items():
            if state != "off":
                engines.add_metric([engine], float(state == "ok"))
        yield engines
        if states["database"] == "ok":
            yield _backlogs()
            yield _reader_lags()
            yield from to_metrics(GAUGES.get())


def _backlogs() -> Metric:
    backlogs = GaugeMetricFamily("postern_follower_lag", "Events a follower has still to read", labels=["follower"])
    for follower in follower_lags():
        backlogs.add_metric([follower.name], follower.lag)
    return backlogs


def _reader_lags() -> Metric:
    behind = GaugeMetricFamily(
        "postern_reader_lag_seconds", "Age of the oldest change set that a reader has not ended", labels=["reader"]
    )
    now = timezone.now()
    for lag in reader_lags():
        behind.add_metric([lag.reader], 0.0 if lag.since is None else (now - lag.since).total_seconds())
    return behind


@sync_and_async_middleware
def metrics_middleware(get_response: Callable[[HttpRequest], Any]) -> Callable[[HttpRequest], Any]:
    """Count each answer under its route, not its path: paths hold ids, and every label is kept for ever."""

    async def call_async(request: HttpRequest) -> HttpResponseBase:
        began = time.monotonic()
        response: HttpResponseBase = await get_response(request)
        _count(request, response, began)
        return response

    def call(request: HttpRequest) -> HttpResponseBase:
        began = time.monotonic()
        response: HttpResponseBase = get_response(request)
        _count(request, response, began)
        return response

    return call_async if iscoroutinefunction(get_response) else call


def _count(request: HttpRequest, response: HttpResponseBase, began: float) -> None:
    if response.status_code < 400 and getattr(request, "scope", {}).get(HEAD_ALONE):
        return  # the call itself is still to come
    method = request.method if request.method in METHODS else "other"
    route = request.resolver_match.route if request.resolver_match else "none"
    REQUESTS.labels(method, route, f"{response.status_code // 100}xx").inc()
    SECONDS.labels(method, route).observe(time.monotonic() - began)
