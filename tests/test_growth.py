import re
from collections import Counter
from fnmatch import fnmatchcase

import pytest
from django.apps import apps
from django.conf import settings

from config import celery
from config.dashboard.live.consumer import DashboardConsumer
from config.schedule import SCHEDULE
from processes.workflows.services.events import amqp as workflows
from sensors.history import queue as history
from sensors.ingest import signal_queue as ingest

GROWTH = (settings.BASE_DIR / "docs" / "growth.md").read_text(encoding="utf-8")


def models() -> set[str]:
    """Name every table of the product and of what it is built on; plugins answer for their own."""
    ours = [app for app in apps.get_app_configs() if app.name not in settings.PLUGINS and "tests" not in app.name]
    return {
        f"{app.label}.{model.__name__}"
        for app in ours
        for model in app.get_models(include_auto_created=True)
        if not model._meta.proxy
    }


def rows() -> dict[str, str]:
    """Return what the tables of the document bound, by name or by the beginning of the name, and how."""
    found: dict[str, str] = {}
    for line in GROWTH.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if line.startswith("| `") and len(cells) == 3:
            found |= dict.fromkeys(re.findall(r"`([a-z_]+\.\w+\*?)`", cells[0]), cells[1])
    return found


def test_every_table_has_a_bound_or_a_reason() -> None:
    named = rows()
    assert {model for model in models() if not any(fnmatchcase(model, name) for name in named)} == set()
    assert all(named.values())


def test_no_row_is_about_a_table_that_is_gone() -> None:
    assert {name for name in rows() if not any(fnmatchcase(model, name) for model in models())} == set()


@pytest.mark.parametrize("name", [ingest.QUEUE, history.QUEUE, workflows.QUEUE, celery.QUEUE])
def test_every_queue_has_a_row(name: str) -> None:
    assert f"\n| `{name}` |" in GROWTH


def test_nothing_has_two_rows() -> None:
    named = [line.split(" | ")[0] for line in GROWTH.splitlines() if line.startswith("| ") and "---" not in line]
    headings = {"| table", "| queue", "| folder"}
    assert [name for name, times in Counter(named).items() if times > 1 and name not in headings] == []


def test_live_pages_have_a_row_in_redis_only_with_a_channel_layer() -> None:
    assert ("| Redis, the live pages |" in GROWTH) == (DashboardConsumer.channel_layer_alias is not None)


def test_every_upkeep_that_deletes_is_named() -> None:
    deleting = [each.name for each in SCHEDULE if each.name.split("_")[0] in ("forget", "keep", "slim", "sweep")]
    assert [name for name in deleting if f"`{name}`" not in GROWTH] == []
