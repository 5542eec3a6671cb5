from datetime import timedelta
from typing import Any

import pytest
from django.test import Client as Browser
from django.utils import timezone

from config.dashboard.first_steps import FEW_SENSORS, FirstSteps
from notifications.models import Delivery, Event
from sensors.models import Sensor, SensorState
from tests.sensors.registry import link, make_client, make_delivery, make_sensor
from tests.staff import signed_in

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]

SIGNAL = "/admin/first-steps/signal/"


@pytest.fixture
def browser() -> Browser:
    return signed_in("administrator")


def steps_of(browser: Browser) -> FirstSteps | None:
    found: FirstSteps | None = browser.get("/admin/").context["start"].first_steps
    return found


def ticks(browser: Browser) -> list[bool]:
    steps = steps_of(browser)
    return [] if steps is None else [step.is_done for step in steps.steps]


def take_first_three(browser: Browser) -> None:
    make_sensor("0xA")
    link("0xA", make_client())
    browser.post(SIGNAL)


class TestSteps:
    def test_each_is_ticked_when_it_is_done_and_all_end(self, browser: Browser, settings: Any) -> None:
        settings.AMQP_URL = None
        assert ticks(browser) == [False] * 4
        client = make_client()
        assert ticks(browser) == [True, False, False, False]
        make_sensor("0xA")
        assert ticks(browser) == [True, False, False, False]
        link("0xA", client)
        assert ticks(browser) == [True, True, False, False]
        browser.post(SIGNAL)
        assert ticks(browser) == [True, True, True, False]
        Delivery.objects.update(status="delivered", due_at=None)
        assert ticks(browser) == [True] * 4
        Delivery.objects.update(created_at=timezone.now() - timedelta(minutes=11))
        assert steps_of(browser) is None

    def test_the_step_to_take_has_the_button(self, browser: Browser) -> None:
        page = browser.get("/admin/").content.decode()
        card = page.split('id="first-steps"')[1].split("</section>")[0]
        assert card.count('aria-current="step"') == 1
        assert 'href="/admin/sensors/client/add/"' in card.split('aria-current="step"')[1].split("</li>")[0]
        assert SIGNAL not in card, "there is no sensor to send it"

    def test_say_what_became_of_the_webhook(self, browser: Browser, settings: Any) -> None:
        settings.AMQP_URL = None
        take_first_three(browser)
        delivery = Delivery.objects.get()
        steps = steps_of(browser)
        assert steps is not None
        assert (steps.is_waiting, steps.steps[-1].link) == (
            True,
            f"/admin/notifications/delivery/{delivery.pk}/change/",
        )
        Delivery.objects.update(attempts_made=1)
        assert "has not accepted it yet" in browser.get("/admin/").content.decode()

    def test_are_for_whoever_may_register(self) -> None:
        assert steps_of(signed_in("viewer", "vera")) is None
        registrar = signed_in("registrar", "rita")
        make_sensor("0xA")
        link("0xA", make_client())
        assert steps_of(registrar) is not None
        assert SIGNAL not in registrar.get("/admin/").content.decode(), "a registrar may not send signals"

    def test_are_not_for_an_installation_with_many_sensors(self, browser: Browser) -> None:
        Sensor.objects.bulk_create(Sensor(id=f"s{n}", address="x") for n in range(FEW_SENSORS + 1))
        assert steps_of(browser) is None

    def test_can_be_hidden(self, browser: Browser) -> None:
        browser.post("/admin/first-steps/hide/")
        assert steps_of(browser) is None

    def test_do_not_come_back_when_later_webhooks_fail(self, browser: Browser, settings: Any) -> None:
        settings.AMQP_URL = None
        take_first_three(browser)
        Delivery.objects.update(status="delivered", due_at=None, created_at=timezone.now() - timedelta(days=1))
        make_delivery("0xB", make_client("other"), attempts_made=3)
        assert steps_of(browser) is None


class TestSendFirstSignal:
    def test_opens_the_door_and_closes_it_the_next_time(self, browser: Browser, settings: Any) -> None:
        settings.AMQP_URL = None
        make_sensor("0xA")
        link("0xA", make_client())
        for value in (1, 0):
            assert browser.post(SIGNAL).headers["Location"] == "/admin/"
            assert SensorState.objects.get().value == value
        assert Event.objects.filter(type="sensor.state_changed").count() == 2

    def test_is_refused_to_whoever_may_not_send_signals(self) -> None:
        make_sensor("0xA")
        link("0xA", make_client())
        assert signed_in("registrar", "rita").post(SIGNAL).status_code == 403
        assert SensorState.objects.get().value is None

    def test_without_a_sensor_says_what_is_missing(self, browser: Browser) -> None:
        answer = browser.post(SIGNAL, follow=True)
        assert "Register a sensor with a client first." in answer.content.decode()

    def test_of_an_inactive_sensor_says_why_it_was_refused(self, browser: Browser, settings: Any) -> None:
        settings.AMQP_URL = None
        make_sensor("0xA", active=False)
        link("0xA", make_client())
        answer = browser.post(SIGNAL, follow=True)
        assert [message.level_tag for message in answer.context["messages"]] == ["error"]

    def test_looking_at_the_address_sends_nothing(self, browser: Browser) -> None:
        assert browser.get(SIGNAL).status_code == 405

    def test_sends_nothing_once_the_first_steps_are_over(self, browser: Browser, settings: Any) -> None:
        settings.AMQP_URL = None
        make_sensor("0xA")
        link("0xA", make_client())
        Sensor.objects.bulk_create(Sensor(id=f"s{n}", address="x") for n in range(FEW_SENSORS + 1))
        assert "nothing was sent" in browser.post(SIGNAL, follow=True).content.decode()
        assert not Event.objects.filter(type="sensor.state_changed").exists()
