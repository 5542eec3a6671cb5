"""Who may ask why a client was not told, over REST and on the page, and where pages lead to it."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client as Browser
from django.utils import timezone

from config.common.times import format_time
from notifications.models import Delivery
from sensors.models import Client
from tests.notifications.sending.deliveries import answer, claim
from tests.sensors.api.callers import Caller, of_client, service
from tests.sensors.explanation.questions import SCOPES, ago, ask, say
from tests.sensors.registry import make_client
from tests.staff import signed_in

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]

PAGE = "/admin/explain/"


@pytest.fixture
def desk() -> Caller:
    return service(*SCOPES)


@pytest.fixture
def client(desk: Caller) -> Client:
    made = desk("POST", "/clients/", {"name": "Acme", "url": "https://acme.example/hook"}).json()
    desk("POST", "/sensors/", {"id": "0xA", "address": "1 Gate Street", "clients": [made["id"]]})
    return Client.objects.get(pk=made["id"])


@pytest.fixture
def at(desk: Caller, client: Client) -> datetime:
    """The time of a change that the client was told of."""
    at = ago(minutes=5)
    say(desk, 1, at)
    answer(*claim())
    return at


class TestCalls:
    def test_a_client_asks_about_itself(self, client: Client, at: datetime) -> None:
        found = ask(of_client(client), client, at)
        assert found["verdict"] == "told"
        assert {row["kind"] for row in found["evidence"]} == {"signal", "event", "delivery", "attempt"}

    def test_a_client_is_not_shown_who_changed_what(self, desk: Caller, client: Client, at: datetime) -> None:
        desk("POST", f"/clients/{client.pk}/pause/")
        newer = ago(minutes=2)
        say(desk, 0, newer, "b")
        assert "change" in {row["kind"] for row in ask(desk, client, newer)["evidence"]}
        assert "change" not in {row["kind"] for row in ask(of_client(client), client, newer)["evidence"]}

    def test_a_client_asks_about_no_other_and_no_foreign_sensor(self, client: Client, at: datetime) -> None:
        other = make_client("other")
        for caller, asked in ((of_client(client), other), (of_client(other), other)):
            path = f"/explain/?sensor=0xA&client={asked.pk}&at={format_time(at)}"
            assert caller("GET", path).status_code == 404

    def test_a_service_needs_history(self, client: Client, at: datetime) -> None:
        path = f"/explain/?sensor=0xA&client={client.pk}&at={format_time(at)}"
        assert service("registry:read")("GET", path).status_code == 403
        assert Caller(None)("GET", path).status_code == 401

    def test_a_client_asks_no_question_of_others(self, client: Client) -> None:
        for query in ("message=m1&enterprise=acme", "change_set=1", "instance=0d6f6c1e-6f5b-4a52-9b55-6a3f3d0f7c11"):
            assert of_client(client)("GET", f"/explain/?{query}").status_code == 403

    @pytest.mark.parametrize(
        ("query", "fields"),
        [
            ("", ["sensor"]),
            ("sensor=0xA", ["at", "client"]),
            ("sensor=0xA&delivery=1", ["sensor"]),
            ("delivery=1&at=2026-01-01T00:00:00Z", ["at"]),
            ("sensor=0xA&client=0&at=2026-01-01T00:00:00Z", ["client"]),
            ("sensor=0xA&client=1&at=yesterday", ["at"]),
            ("sensor=0xA&client=1&at=2026-01-01T00:00:00Z&about=weather", ["about"]),
        ],
    )
    def test_what_is_missing_or_wrong_is_named(self, desk: Caller, query: str, fields: list[str]) -> None:
        found = desk("GET", f"/explain/?{query}")
        assert (found.status_code, sorted(found.json()["data"]["fields"])) == (400, fields)

    def test_unknown_ones_are_not_found(self, desk: Caller, client: Client) -> None:
        now = format_time(timezone.now())
        assert desk("GET", f"/explain/?sensor=none&client={client.pk}&at={now}").status_code == 404
        assert desk("GET", f"/explain/?sensor=0xA&client=999999&at={now}").status_code == 404
        assert desk("GET", "/explain/?delivery=999999").status_code == 404

    def test_a_delivery_explains_itself(self, desk: Caller, client: Client, at: datetime) -> None:
        delivery = Delivery.objects.get()
        found = desk("GET", f"/explain/?delivery={delivery.pk}").json()
        assert (found["verdict"], [row["kind"] for row in found["evidence"]]) == ("told", ["delivery", "attempt"])
        assert of_client(client)("GET", f"/explain/?delivery={delivery.pk}").json()["verdict"] == "told"
        assert of_client(make_client("other"))("GET", f"/explain/?delivery={delivery.pk}").status_code == 404

    def test_what_else_happened_can_be_asked_about(self, desk: Caller, client: Client, at: datetime) -> None:
        say(desk, 1, at.replace(microsecond=0), "b")
        (other,) = ask(desk, client, at)["nearby"]
        query = "&".join(f"{name}={value}" for name, value in other["ask"].items())
        assert desk("GET", f"/explain/?{query}").json()["verdict"] in ("unchanged", "late")

    def test_what_else_happened_comes_newest_first(self, desk: Caller, client: Client, at: datetime) -> None:
        for number, data in enumerate((0, 0, 1, 1)):
            say(desk, data, at + timedelta(seconds=number + 1), f"n{number}")
        found = ask(desk, client, at)["nearby"]
        times = [row["at"] for row in found]
        assert {row["kind"] for row in found} == {"event", "signal"}
        assert times == sorted(times, reverse=True)

    def test_costs_a_few_queries(
        self, desk: Caller, client: Client, at: datetime, django_assert_max_num_queries: Any
    ) -> None:
        with django_assert_max_num_queries(25):
            ask(desk, client, at)


class TestPage:
    def test_names_the_cause_and_leads_to_its_rows(self, client: Client, at: datetime) -> None:
        asked = {"sensor": "0xA", "client": str(client.pk), "at": format_time(at)}
        page = signed_in("viewer").get(PAGE, asked).content.decode()
        assert "“Acme” was notified at" in page
        assert f"/admin/notifications/delivery/{Delivery.objects.get().pk}/change/" in page
        assert "/admin/sensors/sensor/0xA/change/" in page

    def test_speaks_russian(self, client: Client, at: datetime) -> None:
        asked = {"sensor": "0xA", "client": str(client.pk), "at": format_time(at)}
        page = signed_in("viewer").get(PAGE, asked, headers={"Accept-Language": "ru"}).content.decode()
        assert "«Acme» получил уведомление" in page

    def test_takes_a_time_of_the_form(self, client: Client, at: datetime) -> None:
        local = timezone.localtime(at).replace(tzinfo=None).isoformat(timespec="seconds")
        page = signed_in("viewer").get(PAGE, {"sensor": "0xA", "client": str(client.pk), "at": local}).content.decode()
        assert "“Acme” was notified at" in page

    def test_without_a_question_it_asks_for_one(self) -> None:
        page = signed_in("viewer").get(PAGE).content.decode()
        assert 'name="sensor"' in page
        assert 'type="datetime-local"' in page

    def test_offers_the_clients_of_the_sensor(self, client: Client) -> None:
        page = signed_in("viewer").get(PAGE, {"sensor": "0xA"}).content.decode()
        assert '<option value="Acme"></option>' in page

    def test_says_what_is_wrong(self, client: Client) -> None:
        page = signed_in("viewer").get(PAGE, {"sensor": '"><script>', "client": "1", "at": "2026-01-01T00:00"})
        assert "Sensor not found." in page.content.decode()
        assert "<script>&" not in page.content.decode()
        page = signed_in("viewer", "ivan").get(PAGE, {"sensor": "0xA", "client": "x", "at": "2026-01-01T00:00"})
        assert "Client not found." in page.content.decode()
        page = signed_in("viewer", "vera").get(PAGE, {"sensor": "0xA", "client": "Acme", "at": "now"})
        assert "Must be a time such as" in page.content.decode()

    def test_knows_a_client_by_its_name(self, client: Client, at: datetime) -> None:
        browser = signed_in("viewer")
        asked = {"sensor": "0xA", "client": "Acme", "at": format_time(at)}
        assert "“Acme” was notified at" in browser.get(PAGE, asked).content.decode()
        page = browser.get(PAGE, {**asked, "client": str(client.pk)}).content.decode()
        assert 'name="client" value="Acme"' in page
        make_client("Acme")
        assert "Several clients have this name." in browser.get(PAGE, asked).content.decode()
        page = browser.get(PAGE, {**asked, "client": str(client.pk)}).content.decode()
        assert f'name="client" value="{client.pk}"' in page

    def test_is_for_those_who_may_read_history(self, client: Client, at: datetime) -> None:
        browser = Browser()
        browser.force_login(User.objects.create_user("ivan", is_staff=True))
        asked = {"sensor": "0xA", "client": str(client.pk), "at": format_time(at)}
        assert browser.get(PAGE, asked).status_code == 403
        assert Browser().get(PAGE, asked).status_code == 302

    @pytest.mark.parametrize("query", ["client={pk}", "sensor=0xA&delivery=1", "sensor=0xA&client={pk}&task=x"])
    def test_names_no_client_to_those_who_may_not_read_of_it(self, client: Client, query: str) -> None:
        browser = Browser()
        browser.force_login(User.objects.create_user("ivan", is_staff=True))
        assert "Acme" not in browser.get(f"{PAGE}?{query.format(pk=client.pk)}").content.decode()

    @pytest.mark.parametrize("at", ["9999-12-31T23:59:59-12:00", "0001-01-01T00:00:00+12:00", "2026-01-01T00:00"])
    @pytest.mark.parametrize("name", ["\0", "x" * 10_000])
    def test_what_no_row_can_hold_is_no_failure(self, client: Client, name: str, at: str) -> None:
        for asked in ({"sensor": name, "client": "Acme"}, {"sensor": "0xA", "client": name}, {"task": name}):
            assert (
                signed_in("viewer", f"o{len(asked)}{User.objects.count()}").get(PAGE, {**asked, "at": at}).status_code
                == 200
            )

    def test_whoever_sees_deliveries_sees_why_there_is_none(self, client: Client, at: datetime) -> None:
        """The link to it stands beside the deliveries: nobody who sees it is refused."""
        person = User.objects.create_user("ivan", is_staff=True)
        person.user_permissions.set(Permission.objects.filter(codename__in=["view_sensor", "view_delivery"]))
        browser = Browser()
        browser.force_login(person)
        assert f'href="{PAGE}?sensor=0xA"' in browser.get("/admin/sensors/sensor/0xA/change/").content.decode()
        asked = {"sensor": "0xA", "client": str(client.pk), "at": format_time(at)}
        page = browser.get(PAGE, asked).content.decode()
        assert "“Acme” was notified at" in page
        assert "/admin/notifications/event/" not in page

    def test_costs_a_few_queries(self, client: Client, at: datetime, django_assert_max_num_queries: Any) -> None:
        browser = signed_in("viewer")
        asked = {"sensor": "0xA", "client": str(client.pk), "at": format_time(at)}
        with django_assert_max_num_queries(30):
            browser.get(PAGE, asked)

    def test_one_that_was_not_linked_costs_no_more(
        self, client: Client, at: datetime, django_assert_max_num_queries: Any
    ) -> None:
        browser, other = signed_in("viewer"), make_client("other")
        with django_assert_max_num_queries(30):
            page = browser.get(PAGE, {"sensor": "0xA", "client": str(other.pk), "at": format_time(at)})
        assert "was not linked" in page.content.decode()

    def test_the_pages_of_sensor_client_and_delivery_lead_to_it(self, desk: Caller, client: Client) -> None:
        say(desk, 1, ago(minutes=5))
        browser, delivery = signed_in("viewer"), Delivery.objects.get()
        for page, link in (
            ("/admin/sensors/sensor/0xA/change/", f"{PAGE}?sensor=0xA"),
            (f"/admin/sensors/client/{client.pk}/change/", f"{PAGE}?client={client.pk}"),
            (f"/admin/notifications/delivery/{delivery.pk}/change/", f"{PAGE}?delivery={delivery.pk}"),
        ):
            assert f'href="{link}"' in browser.get(page).content.decode()
        assert "It has not been sent yet" in browser.get(f"{PAGE}?delivery={delivery.pk}").content.decode()
