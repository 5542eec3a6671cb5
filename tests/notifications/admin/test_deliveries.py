import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from config.records.models import ChangeRecord
from notifications.admin import deliveries as deliveries_admin
from notifications.models import Attempt, Delivery, Endpoint, ListedSubject
from notifications.services.resend import STEP
from tests.sensors.registry import make_client, make_delivery
from tests.staff import signed_in

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]

LIST, DEAD = "/admin/notifications/delivery/", "/admin/notifications/delivery/dead/"


@pytest.fixture
def operator() -> Client:
    return signed_in("operator")


def dead(sensor: str, client: Any, **fields: Any) -> Delivery:
    return make_delivery(sensor, client, **{"status": "dead", "due_at": None, "attempts": 10, **fields})


def listed(browser: Client, **query: str) -> list[int]:
    return [row.pk for row in browser.get(LIST, query).context["cl"].result_list]


class TestList:
    def test_says_what_to_whom_and_how_it_fares(self, operator: Client) -> None:
        later = timezone.now() + timedelta(hours=3, minutes=5)
        make_delivery("0xA", make_client("watch"), due_at=later, attempts=4, body={"data": 0})
        page = operator.get(LIST).content.decode()
        for part in (
            '<span title="sensor.state_changed">Door closed</span> · 0xA',
            "watch",
            "watch.example",
            "pending",
            "in 3\xa0hours",
            "just now",
        ):
            assert part in page

    @pytest.mark.parametrize(
        ("endpoint", "delivery", "words"),
        [
            ({"paused": True}, {}, "paused"),
            ({"active": False}, {}, "never: inactive"),
            ({"opened_at": -1, "probe_at": 121}, {}, "in 2\xa0hours"),
            ({"opened_at": -1, "probe_at": 121}, {"is_forced": True}, ">now<"),
            ({"not_before": 61}, {}, "in 1\xa0hour"),
            ({}, {"under_way_until": 1}, "in progress"),
        ],
    )
    def test_says_what_a_pending_one_waits_for(
        self, operator: Client, endpoint: dict[str, Any], delivery: dict[str, Any], words: str
    ) -> None:
        make_delivery("0xA", make_client(), **_times(delivery))
        Endpoint.objects.update(**_times(endpoint))
        assert words in operator.get(LIST).content.decode()

    def test_filters_by_status_client_and_age(self, operator: Client) -> None:
        one, two = make_client("one"), make_client("two")
        old, young = dead("0xA", one), dead("0xB", two)
        waiting = make_delivery("0xC", two)
        Delivery.objects.filter(pk=old.pk).update(created_at=timezone.now() - timedelta(days=2))
        assert listed(operator, status="dead") == [young.pk, old.pk]
        assert listed(operator, endpoint__id__exact=str(two.endpoint_id)) == [waiting.pk, young.pk]
        assert listed(operator, age="24h") == [waiting.pk, young.pk]
        assert listed(operator, age="-24h") == [old.pk]

    def test_finds_by_sensor_client_url_number_and_correlation_id(self, operator: Client) -> None:
        watch, bell = make_client("watch"), make_client("bell")
        first, second = dead("0xA", watch, correlation_id="the-chain"), dead("0xB", bell)
        listing = Delivery.objects.create(endpoint=bell.endpoint, type="t", family="list", body={}, status="delivered")
        ListedSubject.objects.create(delivery=listing, endpoint=bell.endpoint, subject="sensor/0xA")
        assert listed(operator, q="0xA") == [listing.pk, first.pk]
        assert listed(operator, q="sensor/0xB") == [second.pk]
        assert listed(operator, q="BEL") == [listing.pk, second.pk]
        assert listed(operator, q="watch.example") == [first.pk]
        assert listed(operator, q=str(second.pk)) == [second.pk]
        assert listed(operator, q="the-chain") == [first.pk]
        assert listed(operator, q="nothing") == []

    def test_costs_the_same_for_many(self, operator: Client, django_assert_max_num_queries: Any) -> None:
        operator.get(LIST)
        for number in range(20):
            dead("0xA", make_client(f"c{number}"))
        with django_assert_max_num_queries(14):
            operator.get(LIST)

    def test_several_are_sent_again_at_once(self, operator: Client) -> None:
        client = make_client()
        rows = [dead("0xA", client), dead("0xA", client), dead("0xB", client)]
        chosen = {"action": "resend_chosen", "_selected_action": [row.pk for row in rows]}
        question = operator.post(LIST, chosen).content.decode()
        assert "even while sending is paused" in question
        named = re.findall(r"<li>([^<]+ → [^<]+)</li>", question)
        assert named == [f"Door opened or closed · {sensor} → watch" for sensor in ("0xA", "0xA", "0xB")]
        assert not Delivery.objects.filter(status="pending").exists()
        page = operator.post(LIST, {**chosen, "confirmed": "yes"}, follow=True).content.decode()
        assert "2 messages are being resent." in page
        assert "1 skipped" in page
        assert Delivery.objects.filter(status="pending").count() == 2

    def test_of_too_many_the_first_are_sent_again(self, operator: Client, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(deliveries_admin, "MOST_AT_ONCE", 1)
        client = make_client()
        first, second = dead("0xA", client), dead("0xB", client)
        operator.post(
            LIST,
            {"action": "resend_chosen", "_selected_action": [first.pk, second.pk], "confirmed": "yes"},
            follow=True,
        )
        assert Delivery.objects.get(status="pending") == first


class TestPage:
    def test_tells_every_attempt(self, operator: Client) -> None:
        row = dead("0xA", make_client(), reason="answered 500", body={"type": "sensor.state_changed"})
        for status, error, answer in ((None, "no connection", ""), (500, "answered 500", "<b>boom</b>")):
            Attempt.objects.create(
                delivery=row,
                at=timezone.now(),
                url="https://old.example/",
                status=status,
                duration_ms=312,
                error=error,
                answer=answer,
            )
        page = operator.get(f"{LIST}{row.pk}/change/").content.decode()
        for part in ("no connection", "answered 500", "312 ms", "&lt;b&gt;boom&lt;/b&gt;", "https://old.example/"):
            assert part in page

    def test_leads_to_the_successor_and_offers_nothing(self, operator: Client) -> None:
        client = make_client()
        newer = make_delivery("0xA", client)
        old = make_delivery("0xA", client, status="superseded", due_at=None, superseded_by=newer)
        page = operator.get(f"{LIST}{old.pk}/change/").content.decode()
        assert f"{LIST}{newer.pk}/change/" in page
        assert f"{LIST}{old.pk}/resend/" not in page

    def test_resend_asks_and_acts(self, operator: Client) -> None:
        row = dead("0xA", make_client())
        assert "Resend this message?" in operator.get(f"{LIST}{row.pk}/resend/").content.decode()
        page = operator.post(f"{LIST}{row.pk}/resend/", follow=True).content.decode()
        assert "The message is being resent." in page
        assert ChangeRecord.objects.get().actor == "staff:olga"

    def test_a_refusal_is_shown_with_its_reason(self, operator: Client) -> None:
        client = make_client()
        row, _newer = dead("0xA", client), make_delivery("0xA", client)
        page = operator.post(f"{LIST}{row.pk}/resend/", follow=True).content.decode()
        assert "A newer message has replaced this one." in page

    def test_one_that_is_not_there(self, operator: Client) -> None:
        assert operator.get(f"{LIST}999999/change/").status_code == 302

    def test_a_viewer_looks_and_acts_not(self) -> None:
        viewer, row = signed_in("viewer"), dead("0xA", make_client())
        page = viewer.get(f"{LIST}{row.pk}/change/").content.decode()
        assert f"{LIST}{row.pk}/resend/" not in page
        assert viewer.post(f"{LIST}{row.pk}/resend/").status_code == 403
        assert viewer.post(LIST, {"action": "resend_chosen", "_selected_action": [row.pk]}).status_code in (302, 200)
        assert Delivery.objects.get().status == "dead"


class TestDeadLetters:
    def test_are_counted_by_receiver(self, operator: Client) -> None:
        one, two = make_client("one"), make_client("two")
        for number in range(3):
            dead(f"s{number}", one)
        dead("s0", two)
        context = operator.get(DEAD).context
        assert context["total"] == 4
        assert [(pile.owner.text, pile.count) for pile in context["piles"]] == [("one", 3), ("two", 1)]

    def test_the_script_has_a_form_of_the_words_for_every_number(self, operator: Client) -> None:
        operator.cookies["django_language"] = "ru"
        page = operator.get(DEAD).content.decode()
        for form, noun in (("one", "сообщение"), ("few", "сообщения"), ("many", "сообщений")):
            assert f'data-done-{form}="%(resent)s {noun} отправля' in page
        assert page.count("пропущено: %(skipped)s") == 4

    def test_go_step_by_step_with_what_is_left(self, operator: Client) -> None:
        client = make_client()
        for number in range(STEP + 2):
            dead(f"s{number}", client)
        json = {"Accept": "application/json"}
        first = operator.post(DEAD, headers=json).json()
        assert (first["resent"], first["left"]) == (STEP, 2)
        second = operator.post(DEAD, {"after": first["after"]}, headers=json).json()
        assert (second["resent"], second["left"]) == (2, 0)
        assert not Delivery.objects.filter(status="dead").exists()

    def test_of_one_receiver_alone(self, operator: Client) -> None:
        one, two = make_client("one"), make_client("two")
        dead("0xA", one)
        other = dead("0xA", two)
        operator.post(DEAD, {"endpoint": one.endpoint_id})
        assert list(Delivery.objects.filter(status="dead")) == [other]

    def test_a_plain_form_makes_a_step_and_returns(self, operator: Client) -> None:
        dead("0xA", make_client())
        page = operator.post(DEAD, follow=True).content.decode()
        assert "1 message is being resent." in page
        assert "No undelivered messages." in page

    @pytest.mark.parametrize("wrong", [{"after": "x"}, {"endpoint": "-1"}, {"after": "9" * 30}])
    def test_a_wrong_step_changes_nothing(self, operator: Client, wrong: dict[str, str]) -> None:
        dead("0xA", make_client())
        assert operator.post(DEAD, wrong).status_code == 400
        assert Delivery.objects.get().status == "dead"

    def test_a_viewer_looks_and_resends_not(self) -> None:
        viewer, row = signed_in("viewer"), dead("0xA", make_client())
        page = viewer.get(DEAD).content.decode()
        assert "data-resend" not in page
        assert viewer.post(DEAD).status_code == 403
        assert Delivery.objects.get() == row
        assert Delivery.objects.get().status == "dead"

    def test_are_not_for_everyone(self) -> None:
        browser = Client()
        browser.force_login(User.objects.create_user("stranger", is_staff=True))
        assert browser.get(DEAD).status_code == 403


def _times(values: dict[str, Any]) -> dict[str, Any]:
    """Read whole numbers as minutes from now."""
    now = timezone.now()
    return {
        name: now + timedelta(minutes=value) if type(value) is int else value  # a flag is no number here
        for name, value in values.items()
    }
