"""The calls about alerts, themes and repeat sessions, as the OpenAPI document shows them."""

from collections.abc import Iterator
from ipaddress import ip_network
from typing import Any

import pytest

from notifications.api.webhooks import REPEAT_NAME
from notifications.models import RepeatSession
from tests.api_examples import Tour
from tests.notifications.alerts import make_alert
from tests.notifications.sessions.themes import repeat_due
from tests.webhook_receiver import Receiver, run_receiver

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]


@pytest.fixture
def receiver(settings: Any) -> Iterator[Receiver]:
    settings.WEBHOOK_ALLOWED_NETWORKS = [ip_network("127.0.0.0/8")]
    with run_receiver() as receiver:
        yield receiver


def test_the_examples_are_what_the_calls_answer(receiver: Receiver) -> None:
    tour = Tour("notifications.api")
    show_alerts(tour)
    show_themes(tour)
    show_sessions(tour)
    note_webhook(tour, receiver)
    tour.check()


def show_alerts(tour: Tour) -> None:
    alert = make_alert(error="connection refused").pk
    tour.show("Open alerts", "GET", "/alerts/?status=open")
    tour.show("Somebody takes it on", "POST", f"/alerts/{alert}/acknowledge/")
    tour.show("For an hour", "POST", f"/alerts/{alert}/mute/", {"seconds": 3600})
    tour.show("Done", "POST", f"/alerts/{alert}/resolve/", {"note": "Redis was restarted"})


def show_themes(tour: Tour) -> None:
    theme = {"theme": 7, "repeat_limit": 5, "delay": 60, "url": "https://billing.example/repeat"}
    tour.show("A theme whose sessions are repeated by a URL", "POST", "/sessions/themes/", theme)
    tour.show("All themes", "GET", "/sessions/themes/")
    tour.show("One theme", "GET", "/sessions/themes/7/")
    tour.show("Wait longer between two repeats", "PATCH", "/sessions/themes/7/", {"delay": 300})
    tour.show("A new secret", "POST", "/sessions/themes/7/rotate-secret/")
    tour.call("POST", "/sessions/themes/", {**theme, "theme": 8})
    tour.show("A theme without sessions", "DELETE", "/sessions/themes/8/")


def show_sessions(tour: Tour) -> None:
    new = {"theme": 7, "records": [{"invoice": 12, "sum": 99.5}]}
    made = tour.show("An invoice to be sent", "POST", "/sessions/", new)
    path = f"/sessions/{made['id']}"
    more = tour.show(
        "One invoice more", "POST", f"{path}/append/", {"change": made["change"], "records": [{"invoice": 13}]}
    )
    body = {"change": more["change"], "records": [{"invoice": 13}]}
    last = tour.show("The second one alone", "POST", f"{path}/rewrite/", body)
    tour.show("Again in ten minutes", "POST", f"{path}/save/", {"change": last["change"], "delay": 600})
    tour.show("An hour later", "POST", f"{path}/shift/", {"seconds": 3600})
    tour.show("Do not wait", "POST", f"{path}/repeat-now/")
    tour.show("One session", "GET", f"{path}/")
    tour.show("Saved sessions of a theme", "GET", "/sessions/?theme=7&status=saved")
    RepeatSession.objects.filter(pk=made["id"]).update(status=RepeatSession.Status.EXHAUSTED, repeats=5, due_at=None)
    tour.show("From the beginning", "POST", f"{path}/revive/")
    tour.show("It is not needed any more", "DELETE", f"{path}/")


def note_webhook(tour: Tour, receiver: Receiver) -> None:
    tour.call("POST", "/sessions/themes/", {"theme": 9, "url": receiver.url("/200/hook")})
    tour.call("POST", "/sessions/", {"theme": 9, "records": [{"invoice": 12}], "delay": 0})
    repeat_due()
    tour.note(REPEAT_NAME, "The first call of a repeat", receiver.calls[0].json)
