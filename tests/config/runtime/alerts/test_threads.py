from datetime import timedelta

import pytest
from django.db.models import F

from config.common.background import supervision
from config.runtime.alerts.threads import KIND, OVER_AFTER, close_recovered_threads, raise_thread_alert
from notifications.models import Alert

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]


@pytest.fixture(autouse=True)
def _one_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    """The thread that fails gives its connection back; the test needs its own."""
    monkeypatch.setattr("config.runtime.alerts.threads.connections.close_all", lambda: None)


def test_the_product_is_told_of_what_keeps_failing() -> None:
    assert supervision._reporter is raise_thread_alert


def test_what_keeps_failing_is_one_alert_that_closes_when_it_is_over() -> None:
    raise_thread_alert("sender", "RuntimeError: boom", 3)
    raise_thread_alert("sender", "RuntimeError: bang", 4)
    close_recovered_threads()
    alert = Alert.objects.get(kind=KIND)
    assert (alert.subject, alert.status, alert.count) == ("thread/sender", "open", 2)
    assert alert.words == "Background work keeps failing: sender (RuntimeError: bang)"
    Alert.objects.update(last_at=F("last_at") - OVER_AFTER - timedelta(seconds=1))
    close_recovered_threads()
    assert Alert.objects.get().status == "resolved"
