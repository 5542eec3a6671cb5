import json

import pytest
from django.utils import timezone

from config.access.keys import create_key
from config.common.times import to_milliseconds
from sensors.ingest.accept import accept_signals
from sensors.ingest.signals import Origin
from tests.sensors.api.test_history import get

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]


@pytest.fixture
def key() -> str:
    return create_key(name="reader", actor="test", scopes=["history:read"])[1]


class TestRejected:
    def send(self, *items: object) -> None:
        origin = Origin(received_at=to_milliseconds(timezone.now()), over_rest=True)
        accept_signals(json.dumps(items).encode(), origin, by_queue=False)

    def test_lists_what_was_refused_with_reason_and_text(self, key: str) -> None:
        self.send({"sensor_id": "nobody", "data": 1, "id": "ü" * 2000}, {"sensor_id": "0xA", "data": 7})
        rows = get("/signals/rejected/", key).json()["results"]
        assert {row["code"] for row in rows} == {"bad_data", "bad_time"}
        assert all(len(row["raw"].encode()) <= 1024 + 3 for row in rows)
        assert set(rows[0]) == {"id", "code", "message", "sensor_id", "raw", "count", "minute", "last_at"}
        assert rows[0]["minute"].endswith(":00.000Z")

    def test_pages(self, key: str) -> None:
        for n in range(5):
            self.send({"sensor_id": f"s{n}", "data": 9})
        answer = get("/signals/rejected/", key, limit="3").json()
        rest = get(answer["next"], key).json()
        assert [row["sensor_id"] for row in [*answer["results"], *rest["results"]]] == ["s4", "s3", "s2", "s1", "s0"]
