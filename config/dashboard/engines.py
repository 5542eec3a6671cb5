"""The engines as the start page shows them: what each is for, and what does its work when it is not configured."""

from dataclasses import dataclass

from django.conf import settings
from django.db import connection
from django.utils.translation import gettext

from config.common.text_templates import render_text
from config.runtime.alerts.storage import FAILED, LOW, OVER, VOLUME, read_storage_findings
from config.runtime.health import engine_states
from notifications.models import Alert


@dataclass(frozen=True)
class EngineTile:
    key: str
    """As the socket names it; the disks are none of its."""
    name: str
    state: str
    """ok, down or off."""
    words: str
    detail: str


def engine_tiles() -> list[EngineTile]:
    """Return the engines in the order of their weight, each with its state in words, and the disks last."""
    states = engine_states()
    return [*(_tile(name, state) for name, state in states.items()), _disk_tile()]


def profile() -> str:
    """Name the profile that the configured engines make."""
    configured = [_is_postgresql(), bool(settings.AMQP_URL), bool(settings.REDIS_URL), bool(settings.CLICKHOUSE_URL)]
    if all(configured):
        return gettext("Full profile")
    return gettext("Partly embedded") if any(configured) else gettext("Embedded profile")


def _tile(engine: str, state: str) -> EngineTile:
    words = _words()[engine]
    if state == "off":
        return EngineTile(engine, words.name, state, gettext("Not configured"), words.instead)
    return EngineTile(engine, words.name, state, gettext("Up") if state == "ok" else gettext("Down"), words.purpose)


def _disk_tile() -> EngineTile:
    """Return the tile of the disks: the alerts of any node, or else what this node sees without writing."""
    raised = Alert.objects.exclude(status=Alert.Status.RESOLVED).filter(kind__in=OVER)
    troubles = {alert.kind: alert.words for alert in raised}
    if not troubles:
        troubles = {found.kind: render_text(found.title, found.detail) for found in read_storage_findings()}
    words = {
        VOLUME: gettext("Volume unavailable"),
        FAILED: gettext("Not writable"),
        LOW: gettext("Low on space"),
    }
    for kind, said in words.items():
        if kind in troubles:
            return EngineTile("disk", gettext("Disk"), "down", said, troubles[kind])
    return EngineTile("disk", gettext("Disk"), "ok", gettext("Up"), gettext("message files"))


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
        "redis": _Words("Redis", gettext("rate limits"), gettext("embedded: in the memory of the server")),
        "clickhouse": _Words("ClickHouse", gettext("history"), gettext("embedded: history in the database")),
    }


def _is_postgresql() -> bool:
    return connection.vendor == "postgresql"
