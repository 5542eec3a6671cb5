"""The engines as the start page tells them: what each is for, and what does its work when it is not configured."""

from dataclasses import dataclass

from django.conf import settings
from django.db import connection
from django.utils.translation import gettext

from config.runtime.health import engine_states


@dataclass(frozen=True)
class EngineTile:
    name: str
    state: str
    """ok, down or off."""
    words: str
    detail: str


def engine_tiles() -> list[EngineTile]:
    """Return the engines in the order of their weight, each with its state in words."""
    states = engine_states()
    return [_tile(name, state) for name, state in states.items()]


def profile() -> str:
    """Name the profile that the configured engines make."""
    configured = [_is_postgresql(), bool(settings.AMQP_URL), bool(settings.REDIS_URL), bool(settings.CLICKHOUSE_URL)]
    if all(configured):
        return gettext("Full profile")
    return gettext("Partly embedded") if any(configured) else gettext("Embedded profile")


def _tile(engine: str, state: str) -> EngineTile:
    words = _words()[engine]
    if state == "off":
        return EngineTile(words.name, state, gettext("Not configured"), words.instead)
    return EngineTile(words.name, state, gettext("Works") if state == "ok" else gettext("Down"), words.purpose)


@dataclass(frozen=True)
class _Words:
    name: str
    purpose: str
    instead: str = ""
    """What does its work when it is not configured."""


def _words() -> dict[str, _Words]:
    return {
        "database": _Words("PostgreSQL", gettext("everything that must not be lost"))
        if _is_postgresql()
        else _Words("SQLite", gettext("embedded: one file on this disk")),
        "amqp": _Words(
            "RabbitMQ",
            gettext("signals and background work"),
            gettext("embedded: signals by REST, work in the server"),
        ),
        "redis": _Words(
            "Redis", gettext("live pages and rate limits"), gettext("embedded: in the memory of the server")
        ),
        "clickhouse": _Words("ClickHouse", gettext("history"), gettext("embedded: history in the database")),
    }


def _is_postgresql() -> bool:
    return connection.vendor == "postgresql"
