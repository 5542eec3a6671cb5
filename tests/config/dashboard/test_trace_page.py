import pytest
from django.contrib.auth.models import User
from django.test import Client

from config.common.correlation import correlated
from tests.notifications.recorded_events import record_numbered_events
from tests.notifications.sending.deliveries import enqueue_state, make_endpoint
from tests.staff import signed_in

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]

PAGE = "/admin/trace/"
CHAIN = "call-0001"


def shown(browser: Client, asked: str = CHAIN) -> str:
    return browser.get(PAGE, {"id": asked}).content.decode()


class TestTracePage:
    def test_shows_each_step_with_the_way_to_its_page(self) -> None:
        with correlated(CHAIN):
            event, delivery = record_numbered_events(1)[0], enqueue_state(make_endpoint())
        page = shown(signed_in("viewer"))
        assert f'href="/admin/notifications/event/{event.pk}/change/"' in page
        assert f'href="/admin/notifications/delivery/{delivery.pk}/change/"' in page

    def test_an_event_leads_to_it(self) -> None:
        with correlated(CHAIN):
            event = record_numbered_events(1)[0]
        page = signed_in("viewer").get(f"/admin/notifications/event/{event.pk}/change/").content.decode()
        assert f'href="{PAGE}?id={CHAIN}"' in page

    def test_who_may_see_no_events_sees_none(self) -> None:
        with correlated(CHAIN):
            record_numbered_events(1)
        browser = Client()
        browser.force_login(User.objects.create_user("ivan", is_staff=True))
        assert "test.happened" not in shown(browser)

    def test_asks_for_an_id(self) -> None:
        assert signed_in("viewer").get(PAGE).status_code == 200

    def test_a_malformed_id_is_said(self) -> None:
        page = shown(signed_in("viewer"), '"><script>alert(1)</script>')
        assert "8 to 64 letters" in page
        assert "<script>alert" not in page

    def test_an_unknown_id_is_said(self) -> None:
        assert "Nothing is known of this id" in shown(signed_in("viewer"))

    def test_is_for_staff(self) -> None:
        assert Client().get(PAGE).status_code == 302
