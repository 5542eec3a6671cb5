import pytest
from django.test import Client

from notifications.sessions.enqueue import enqueue_session
from tests.notifications.alerts import make_alert
from tests.notifications.recorded_events import record_numbered_events
from tests.notifications.sending.deliveries import enqueue_state, make_endpoint
from tests.notifications.sessions.themes import theme
from tests.search_answers import found
from tests.staff import signed_in

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]


@pytest.fixture
def viewer() -> Client:
    return signed_in("viewer")


def test_numbers_find_what_is_numbered(viewer: Client) -> None:
    theme(delay=30)
    rows = {
        "Deliveries": enqueue_state(make_endpoint()).pk,
        "Events": record_numbered_events(1)[0].pk,
        "Alerts": make_alert().pk,
        "Repeat sessions": enqueue_session(theme=7, records=[1]),
    }
    for title, number in rows.items():
        assert found(viewer, f"#{number}")[title][0].endswith(f"/{number}/change/")


def test_a_session_is_found_as_it_is_written(viewer: Client) -> None:
    theme(delay=30)
    number = enqueue_session(theme=7, records=[1])
    page = f"/admin/notifications/repeatsession/{number}/change/"
    assert found(viewer, f"7/{number}")["Repeat sessions"] == [page]


def test_a_delivery_is_found_by_its_webhook_id(viewer: Client) -> None:
    delivery = enqueue_state(make_endpoint())
    page = f"/admin/notifications/delivery/{delivery.pk}/change/"
    assert found(viewer, delivery.webhook_id)["Deliveries"] == [page]
