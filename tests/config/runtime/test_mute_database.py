import time

import pytest
from django.db import connection

from config.runtime.health import engine_states
from tests.faults.silent_servers import SilentServer

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _ask_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("config.runtime.health.FRESH_SECONDS", 0.0)


def test_a_mute_database_is_down(monkeypatch: pytest.MonkeyPatch) -> None:
    """PostgreSQL alone can be mute: SQLite is no server."""
    with SilentServer() as mute:
        monkeypatch.setitem(connection.settings_dict, "PORT", str(mute.port))
        began = time.monotonic()
        assert engine_states()["database"] == "down"
        assert time.monotonic() - began < 2
