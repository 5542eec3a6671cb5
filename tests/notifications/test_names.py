"""What alerts, events and log entries are about, as people read it."""

import re
from typing import Any
from uuid import uuid4

import pytest
from django.utils import translation

from notifications.models import Delivery, Endpoint
from notifications.names import Named, name_subject, name_subjects
from processes.exchange.models import ExchangeProcess
from processes.exchange.subjects import subject_of
from tests.config.dashboard.live.records import add_messages, make_process
from tests.sensors.registry import make_client, make_delivery
from tests.staff import signed_in

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]

POISONED = [
    "",
    "/",
    "sensor/",
    "sensor/../../x",
    "process/",
    "process/x",
    "workflow/",
    "workflow/x/y",
    "endpoint/",
    "endpoint/99999999999999999999",
    "endpoint/٣",
    "client/0",
    "coordination/",
    "coordination/99999999999999999999",
    "message/",
    "message/x",
    "message//",
    "alert/x",
    "queue/",
    "theme/-1",
    "engine/none",
    "device/\N{DOOR}",
]


def text_of(subject: str) -> str:
    named = name_subject(subject)
    assert named is not None, subject
    return named.text


class TestNameSubjects:
    def test_says_in_words_what_the_codes_stand_for(self) -> None:
        process = make_process(name="acme")
        [message] = add_messages(process, 1)
        client = make_client("Facility")
        mailbox = Endpoint.objects.create(url="mailto:ops@example.org", secret=b"x")
        names = {
            subject_of(process): "exchange process of ERP “ERP”",
            f"message/acme/{message.public_id}": f"message {message.public_id}",
            f"endpoint/{client.endpoint_id}": "Facility",
            f"client/{client.pk}": "Facility",
            f"endpoint/{mailbox.pk}": "ops@example.org",
            "database/acme-erp": "ERP",
            "coordination/11": "change set 11",
            "reader/main": "reader main",
            "sensor/0xA": "0xA",
            "engine/amqp": "RabbitMQ",
            "disk/node-1": "disk of node-1",
            "thread/live": "background work “live”",
            "delivery/7": "delivery 7",
            "signals": "rejected signals",
        }
        assert {subject: named.text for subject, named in name_subjects(names).items()} == names

    def test_in_the_language_of_the_reader(self) -> None:
        with translation.override("ru"):
            assert text_of("coordination/11") == "набор изменений 11"

    def test_what_is_gone_is_named_by_its_id(self) -> None:
        gone = uuid4()
        assert text_of(f"process/{gone}") == f"exchange process {gone}"
        assert text_of(f"workflow/{gone}/task") == f"workflow instance {gone}"

    @pytest.mark.parametrize("subject", POISONED)
    def test_a_subject_from_outside_breaks_no_list(self, subject: str) -> None:
        assert isinstance(name_subject(subject), Named | None)

    def test_costs_the_same_for_many(self, django_assert_max_num_queries: Any) -> None:
        for number in range(5):
            make_process(minute=number, name=f"acme{number}")
            make_client(f"client {number}")
        subjects = [subject_of(process) for process in ExchangeProcess.objects.all()]
        subjects += [f"endpoint/{pk}" for pk in Endpoint.objects.values_list("pk", flat=True)]
        with django_assert_max_num_queries(2):
            assert len(name_subjects(subjects)) == len(subjects)

    def test_the_page_and_the_search_of_a_row_say_it_too(self) -> None:
        client = make_client("Facility")
        delivery = make_delivery("0xA", client)
        ping = make_delivery("0xA", client, family="ping")
        Delivery.objects.filter(pk=ping.pk).update(subject=f"endpoint/{client.endpoint_id}")
        browser = signed_in("viewer")
        titles = []
        for pk in (delivery.pk, ping.pk):
            page = browser.get(f"/admin/notifications/delivery/{pk}/change/").content.decode()
            titles.append(re.findall(r"<h1.*?</h1>", page, re.DOTALL)[0])
        assert "· 0xA" in titles[0]
        assert "· Facility" in titles[1]
        assert "sensor/0xA" not in titles[0]
        found = browser.get("/admin/search/", {"s": f"#{delivery.pk}"}).content.decode()
        assert "· 0xA ·" in found
