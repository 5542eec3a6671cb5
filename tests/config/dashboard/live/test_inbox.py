from collections.abc import Collection
from datetime import timedelta
from typing import Any

import pytest

from config.common.database.row_lists import read_lists
from config.dashboard.live import inbox as inbox_module
from config.dashboard.live.counts import read_counts
from config.dashboard.live.inbox import MOST_OF_A_KIND, InboxRow, Waiting, ask_inbox, read_inbox, sorted_rows
from notifications.models import Alert, Delivery, Endpoint, Follower, Incident
from notifications.services.alerts import raise_alert
from processes.coordination.models import AppEvent
from processes.coordination.protocol.statuses import EventStatus
from processes.exchange.models import ExchangeProcess
from processes.exchange.subjects import subject_of
from processes.workflows.models import WorkflowIncident
from tests.config.dashboard.live.conftest import AT, EVERYTHING
from tests.config.dashboard.live.records import make_process, shown_processes
from tests.processes.workflows.process_files import chain, user
from tests.processes.workflows.scene import Scene

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]
Status = ExchangeProcess.Status


def waiting() -> Waiting:
    return read_inbox(shown_processes().values(), read_counts(AT), read_lists(ask_inbox()))


def inbox(parts: Collection[str] = EVERYTHING.parts) -> list[InboxRow]:
    return sorted_rows(waiting().rows, parts)


class TestReadInbox:
    def test_is_empty_while_all_is_well(self) -> None:
        make_process(Status.DONE)
        make_process(Status.STARTED)
        assert inbox() == []

    def test_what_has_stopped_comes_first_and_of_equals_the_oldest(self) -> None:
        kinds = {"a": "sensor.flapping", "b": "engine.down", "c": "sensor.flapping"}
        for minute, (subject, kind) in enumerate(kinds.items()):
            raise_alert(kind, subject, "A thing")
            Alert.objects.filter(subject=subject).update(first_at=AT + timedelta(minutes=minute))
        assert [row.about for row in inbox()] == [
            ("engine.down", "b"),
            ("sensor.flapping", "a"),
            ("sensor.flapping", "c"),
        ]

    def test_of_more_alerts_than_it_lists_the_most_severe_are_there_and_all_are_counted(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(inbox_module, "MOST_ALERTS", 2)
        for number in range(3):
            raise_alert("sensor.flapping", f"sensor/{number}", "A thing")
        raise_alert("engine.down", "engine/redis", "A thing")
        assert [row.about[1] for row in inbox()] == ["engine/redis", "sensor/0"]
        assert waiting().beyond["alerts"] == 2

    def test_of_more_than_it_lists_the_oldest_of_each_kind_are_there(self) -> None:
        follower, failed = Follower.objects.create(name="follower"), EventStatus.COMPENSATION_FAILED.value
        instance = Scene().begin(chain("p", user("a"))).id
        for number in range(12):
            at = AT + timedelta(minutes=number)
            Incident.objects.create(
                follower=follower, position=number, type="t", subject="s", event={}, error="e", at=at
            )
            WorkflowIncident.objects.create(instance_id=instance, about=str(number), command={}, opened_at=at)
            AppEvent.objects.create(app_event_type_id=1, app_event_status_id=failed, date=at)
        rows, oldest = inbox(), [AT + timedelta(minutes=number) for number in range(MOST_OF_A_KIND)]
        for start in ("incident-", "workflow-incident-", "change-set-"):
            assert [row.since for row in rows if row.key.startswith(start)] == oldest
        assert {waiting().beyond[part] for part in ("incidents", "workflows", "changes")} == {2}

    def test_a_workflow_that_has_stopped_is_called_as_people_know_it(self) -> None:
        instance = Scene().begin(chain("p", user("a")), record="sensor/Door1").id
        WorkflowIncident.objects.create(instance_id=instance, about="a", command={}, element="a", opened_at=AT)
        [row] = [row for row in inbox() if row.kind == "incident"]
        assert row.titles["en"] == "Workflow “p” of Door1 has stopped at “A”"

    def test_two_alerts_about_one_object_are_two(self) -> None:
        for kind in ("endpoint.unreachable", "deliveries.dead"):
            raise_alert(kind, "endpoint/1", "A thing")
        assert {row.about[0] for row in inbox()} == {"endpoint.unreachable", "deliveries.dead"}

    def test_a_decision_carries_its_alert(self) -> None:
        doubt, failed = make_process(Status.IN_DOUBT), make_process(Status.FAILED, name="other")
        alert = raise_alert("exchange.in_doubt", subject_of(doubt), "In doubt")
        rows = {row.kind: row for row in inbox()}
        assert set(rows) == {"doubt", "failed"}
        assert (rows["doubt"].alert, rows["failed"].alert) == (alert, None)
        assert rows["doubt"].page == "/admin/exchange/exchangeprocess/doubt/"
        assert rows["failed"].page == f"/admin/exchange/exchangeprocess/{failed.pk}/change/"

    def test_whoever_may_not_see_the_decision_sees_its_alert(self) -> None:
        doubt = make_process(Status.IN_DOUBT)
        alert = raise_alert("exchange.in_doubt", subject_of(doubt), "In doubt")
        assert [row.key for row in inbox({"alerts"})] == [f"alert-{alert}"]
        assert [row.key for row in inbox({"alerts", "processes"})] == [f"process-{doubt.pk}"]

    def test_another_alert_about_the_same_object_stands_by_itself(self) -> None:
        doubt = make_process(Status.IN_DOUBT)
        alert = raise_alert("workflow.alert", subject_of(doubt), "Look at this process")
        assert [row.key for row in inbox()] == [f"process-{doubt.pk}", f"alert-{alert}"]

    def test_what_cannot_be_resent_is_no_dead_letter(self) -> None:
        endpoint = Endpoint.objects.create(url="https://example.org/", secret=b"x")
        usual = {"endpoint": endpoint, "type": "t", "body": {}, "status": "dead"}
        Delivery.objects.create(**usual, family="ping")
        Delivery.objects.create(**usual, family="state", is_final=True)
        assert inbox() == []

    @pytest.mark.parametrize(
        ("language", "words"), [("en", "2 messages could not be delivered"), ("ru", "Не доставлено сообщений: 2")]
    )
    def test_dead_letters_are_one_row(self, language: str, words: str) -> None:
        endpoint = Endpoint.objects.create(url="https://example.org/", secret=b"x")
        for _ in range(2):
            Delivery.objects.create(endpoint=endpoint, type="t", family="list", body={}, status="dead")
        [row] = inbox()
        assert row.titles[language] == words
        assert row.page == "/admin/notifications/delivery/dead/"


class TestReadCounts:
    def test_takes_one_query(self, django_assert_num_queries: Any) -> None:
        raise_alert("k", "a", "A thing")
        make_process()
        with django_assert_num_queries(1):
            counts = read_counts(AT)
        assert counts["alerts"] == 1
        assert counts["dead"] == counts["started"] == counts["timers"] == 0
