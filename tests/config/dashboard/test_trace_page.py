import re
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode
from uuid import uuid4

import pytest
from django.contrib import admin
from django.contrib.auth.models import Group, User
from django.test import Client
from django.utils import timezone

from config.access.keys import create_key
from config.audit.changes import record_change
from config.audit.log import write_log_entry
from config.common.correlation import correlated
from config.dashboard.templatetags import traces
from config.dashboard.trace_page import format_gap
from config.records.models import AccessKey, ChangeRecord, LogEntry
from notifications.services.alerts import acknowledge_alert
from notifications.services.events import NewEvent, record_event
from notifications.sessions.enqueue import enqueue_session
from tests.messaging.parties import make_database, make_device, make_enterprise, make_subsystem
from tests.notifications.alerts import make_alert
from tests.notifications.recorded_events import record_numbered_events
from tests.notifications.sending.deliveries import answer, claim, enqueue_state, make_endpoint
from tests.notifications.sessions.themes import theme
from tests.processes.workflows.process_files import chain as make_process
from tests.processes.workflows.process_files import user
from tests.processes.workflows.scene import Scene
from tests.sensors.api.callers import service
from tests.sensors.registry import make_client, make_sensor
from tests.staff import signed_in
from tests.trace_button import find_trace_button

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]

PAGE = "/admin/trace/"
CHAIN = "call-0001"
NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)


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
        page = shown(signed_in("viewer"))
        assert "No record that you can see carries this id" in page
        assert "The call with this id came at" not in page

    def test_a_signal_that_changed_nothing_is_not_called_unknown(self) -> None:
        make_sensor("0xA")
        device, browser = service("signals:write"), signed_in("viewer")
        with correlated() as changing:
            device("POST", "/signals/", {"sensor_id": "0xA", "data": 0})
        with correlated() as equal:
            device("POST", "/signals/", {"sensor_id": "0xA", "data": 0})
        assert "0xA reports closed" in shown(browser, changing)
        page = shown(browser, equal)
        assert "The call with this id came at <time" in page
        assert "is kept in the history of its sensor, without the id of its call" in page

    def test_is_for_staff(self) -> None:
        assert Client().get(PAGE).status_code == 302


class TestParts:
    def test_the_lanes_that_have_steps_are_drawn(self) -> None:
        with correlated(CHAIN):
            record_numbered_events(1)
            enqueue_state(make_endpoint())
        page = shown(signed_in("viewer"))
        assert re.findall(r'<li data-lane="(\w+)">', page) == ["event", "delivery"]
        assert re.findall(r'data-lane="(\w+)"[^>]+--lane: (\d)', page) == [("event", "0"), ("delivery", "1")]

    def test_what_is_still_to_come_is_said_with_its_time(self) -> None:
        with correlated(CHAIN):
            delivery = enqueue_state(make_endpoint())
        answer(*claim(), status=503)
        page = shown(signed_in("viewer"))
        [coming] = re.findall(r'id="upcoming".*?</section>', page, re.DOTALL)
        assert "next attempt" in coming
        assert "minutes" in coming
        assert f"/admin/notifications/delivery/{delivery.pk}/change/" in coming

    def test_steps_of_the_same_millisecond_have_no_time_between_them(self) -> None:
        with correlated(CHAIN):
            record_event(NewEvent("test.happened", "x/1", NOON))
            record_event(NewEvent("test.happened", "x/2", NOON + timedelta(microseconds=400)))
            record_event(NewEvent("test.happened", "x/3", NOON + timedelta(microseconds=3400)))
        page = shown(signed_in("viewer"))
        assert re.findall(r"<span>\+([^<]+)</span>", page) == ["3 ms"]

    def test_who_acted_has_a_lane(self) -> None:
        with correlated(CHAIN):
            alert = make_alert()
        acknowledge_alert(alert.pk, "staff:olga")
        page = shown(signed_in("viewer"))
        assert ">olga<" in page
        assert '<li data-lane="actor">' in page
        assert ("<dt>Started</dt>" in page, "<dt>Duration</dt>" in page) == (True, True)

    def test_a_chain_it_goes_on_in_is_linked(self) -> None:
        endpoint = make_endpoint()
        for chain in (CHAIN, "call-0002"):
            with correlated(chain):
                enqueue_state(endpoint)
        assert f'href="{PAGE}?id=call-0002"' in shown(signed_in("viewer"))

    def test_is_in_the_reader_s_language(self) -> None:
        with correlated(CHAIN):
            enqueue_state(make_endpoint())
        browser = signed_in("viewer")
        browser.cookies["django_language"] = "ru"
        page = shown(browser)
        assert "следующая попытка" in page
        assert "в процессе" in page

    def test_takes_few_queries_however_much_there_is(self, django_assert_max_num_queries: Any) -> None:
        theme(delay=30)
        with correlated(CHAIN):
            endpoint = make_endpoint()
            for number in range(20):
                enqueue_state(endpoint, f"thing/{number}")
                make_alert(subject=f"engine/{number}")
                enqueue_session(theme=7, records=[number])
                write_log_entry(level="error", kind="exchange", subject=f"process/{uuid4()}", template="Step", data={})
        answer(*claim())
        browser = signed_in("administrator")
        with django_assert_max_num_queries(30):
            assert shown(browser).count("pst-trace-step") > 80


class TestOfARow:
    def test_a_sensor_leads_to_its_last_change(self) -> None:
        make_sensor("A1")
        browser = signed_in("viewer")
        link = f"{PAGE}?of=sensor%2FA1"
        assert f'href="{link}"' in browser.get("/admin/sensors/sensor/A1/change/").content.decode()
        assert "No event about it is kept" in browser.get(link).content.decode()
        for chain in ("call-0000", CHAIN):
            record_event(NewEvent("sensor.state_changed", "sensor/A1", timezone.now(), {"data": 1}, chain))
        assert browser.get(link).headers["location"] == f"{PAGE}?id={CHAIN}"

    def test_who_may_see_no_events_is_not_led_to_them(self) -> None:
        record_event(NewEvent("sensor.state_changed", "sensor/A1", timezone.now(), {"data": 1}, CHAIN))
        browser = Client()
        browser.force_login(User.objects.create_user("ivan", is_staff=True))
        assert browser.get(f"{PAGE}?of=sensor/A1").status_code == 200

    @pytest.mark.parametrize("of", ["", "x" * 500, "sensor/%00", "\x00", "nothing"])
    def test_any_subject_is_answered(self, of: str) -> None:
        assert signed_in("viewer").get(PAGE, {"of": of}).status_code == 200

    def test_every_kind_of_row_has_the_button(self) -> None:
        theme(delay=30)
        browser = signed_in("administrator")
        with correlated(CHAIN):
            service("registry:write")("POST", "/sensors/", {"id": "A1", "address": "gate"})
            change = ChangeRecord.objects.filter(kind="sensor").get()
            ChangeRecord.objects.filter(pk=change.pk).update(correlation_id=CHAIN)
            write_log_entry(level="error", kind="exchange", subject=f"process/{uuid4()}", template="Step", data={})
            pages = [
                f"records/changerecord/{change.pk}",
                f"records/logentry/{LogEntry.objects.get().pk}",
                f"notifications/event/{record_numbered_events(1)[0].pk}",
                f"notifications/delivery/{enqueue_state(make_endpoint()).pk}",
                f"notifications/alert/{make_alert().pk}",
                f"notifications/repeatsession/{enqueue_session(theme=7, records=[1])}",
            ]
        buttons = {find_trace_button(browser, f"/admin/{page}/change/") for page in pages}
        assert buttons == {f"{PAGE}?id={CHAIN}"}

    def test_every_page_of_a_row_has_one_or_a_reason(self) -> None:
        found = {
            model
            for model in admin.site._registry
            if hasattr(model, "correlation_id") or model in traces.SUBJECTS or model in traces.KINDS
        }
        without = {model._meta.label for model in admin.site._registry if model not in found}
        assert without == {
            "django_celery_beat.CrontabSchedule",  # a time of the day
            "django_celery_beat.PeriodicTask",  # each of its runs is a chain of its own
            "notifications.Follower",  # it reads the events of all chains
            "workflows.WorkflowDraft",  # nothing has come of it before it is published
        }

    def test_an_account_and_a_group_lead_to_the_call_that_changed_them_last(self) -> None:
        browser = signed_in("administrator")
        for row in (User.objects.get(username="olga"), Group.objects.create(name="night shift")):
            kind = "group" if isinstance(row, Group) else "account"
            record_change(
                kind=kind, object_id=str(row.pk), action=ChangeRecord.Action.CHANGED, before={}, after={}, actor="test"
            )
            ChangeRecord.objects.filter(kind=kind).update(correlation_id=CHAIN)
            page = f"/admin/auth/{row._meta.model_name}/{row.pk}/change/"
            assert find_trace_button(browser, page) == f"{PAGE}?id={CHAIN}"

    def test_what_is_registered_leads_to_its_last_change(self) -> None:
        browser = signed_in("administrator")
        with correlated(CHAIN):
            pages = {
                f"sensors/client/{make_client().pk}": "client",
                f"messaging/enterprise/{make_enterprise().pk}": "enterprise",
                f"messaging/subsystem/{make_subsystem().pk}": "subsystem",
                f"messaging/device/{make_device().pk}": "device",
                f"messaging/exchangedatabase/{make_database().pk}": "database",
            }
        for page, prefix in pages.items():
            subject = f"{prefix}/{page.rpartition('/')[2]}"
            button = f"{PAGE}?{urlencode({'of': subject})}"
            assert find_trace_button(browser, f"/admin/{page}/change/") == button
            record_event(NewEvent("registry.changed", subject, timezone.now(), {}, CHAIN))
            assert browser.get(button).headers["location"] == f"{PAGE}?id={CHAIN}"

    def test_a_key_leads_to_the_call_that_changed_it_last(self) -> None:
        browser = signed_in("administrator")
        create_key(name="facility", scopes=["registry:read"], actor="test")
        page = f"/admin/records/accesskey/{AccessKey.objects.get().pk}/change/"
        ChangeRecord.objects.update(correlation_id="")
        assert find_trace_button(browser, page) == ""
        ChangeRecord.objects.update(correlation_id=CHAIN)
        assert find_trace_button(browser, page) == f"{PAGE}?id={CHAIN}"

    def test_a_definition_leads_to_the_call_that_changed_it_last(self) -> None:
        with correlated(CHAIN):
            Scene().publish(make_process("order", user("a")))
        ChangeRecord.objects.filter(kind="workflow").update(correlation_id=CHAIN)
        page = "/admin/workflows/workflowdefinition/order/change/"
        assert find_trace_button(signed_in("administrator"), page) == f"{PAGE}?id={CHAIN}"


class TestFormatGap:
    @pytest.mark.parametrize(
        ("seconds", "words"),
        [
            (0, "0 ms"),
            (0.1204, "120 ms"),
            (1.25, "1.2 s"),
            (42, "42 s"),
            (90, "1.5 min"),
            (7200, "2.0 h"),
            (864000, "10 d"),
        ],
    )
    def test_says_it_in_the_largest_unit(self, seconds: float, words: str) -> None:
        assert format_gap(timedelta(seconds=seconds)) == words
