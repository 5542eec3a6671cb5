from datetime import UTC, datetime
from uuid import UUID

import pytest
from django.contrib.auth.models import Group
from django.test import Client
from django_celery_beat.models import CrontabSchedule, PeriodicTask

from config.dashboard.templatetags.titles import page_title
from messaging.models import ExchangeDatabase
from notifications.models import RepeatSession
from processes.coordination.models import AppEvent
from processes.exchange.models import ExchangeProcess
from processes.workflows.models import WorkflowDefinition, WorkflowInstance
from sensors.models import RejectedSignal
from tests.sensors.registry import make_client
from tests.staff import signed_in

AT = datetime(2026, 5, 1, 10, 2, tzinfo=UTC)
MAIN = ExchangeDatabase(name="Main ERP")
LOST = WorkflowDefinition(key="lost-sensor", name="Lost sensor")


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (WorkflowInstance(pk=UUID(int=1), definition=LOST, record="sensor/0xA"), "Lost sensor · 0xA"),
        (WorkflowInstance(pk=UUID(int=1), definition=LOST), f"Lost sensor · {UUID(int=1)}"),
        (
            ExchangeProcess(database=ExchangeDatabase(name="Main ERP"), started_at=AT),
            "Main ERP · 1 May 2026, 10:02:00 UTC",
        ),
        (RepeatSession(pk=3, theme_id=77), "Session 3 of theme 77"),
        (AppEvent(pk=8), "Change set 8"),
        (RejectedSignal(code="bad_data", sensor_id="0xA"), "wrong value · 0xA"),
        (RejectedSignal(code="bad_json"), "not JSON"),
        (PeriodicTask(name="forget_old_log", description="Delete old log entries."), "Delete old log entries."),
        (CrontabSchedule(minute="7", timezone="UTC"), "every hour at minute 7"),
        (Group(name="viewer"), "viewer"),
        ("Why not?", "Why not?"),
    ],
)
def test_a_page_about_a_row_is_called_as_people_call_the_row(row: object, words: str) -> None:
    assert page_title(row) == words


@pytest.mark.embedded
@pytest.mark.django_db
class TestTab:
    @pytest.fixture
    def browser(self) -> Client:
        return signed_in("registrar")

    @pytest.mark.parametrize(
        ("page", "title"),
        [
            ("", "Клиенты | Postern"),
            ("add/", "Добавление | Клиенты | Postern"),
            ("1/change/", "Depot watch | Клиенты | Postern"),
            ("1/pause/", "Приостановить этого клиента? | Клиенты | Postern"),
        ],
    )
    def test_names_the_page_then_its_list(self, browser: Client, page: str, title: str) -> None:
        pk = str(make_client(name="Depot watch").pk)
        address = f"/admin/sensors/client/{page.replace('1', pk)}"
        shown = browser.get(address, headers={"accept-language": "ru"}).content.decode()
        assert " ".join(shown.partition("<title>")[2].partition("</title>")[0].split()) == title

    def test_a_page_beside_a_list_is_named_in_its_heading(self, browser: Client) -> None:
        heading = (
            browser.get("/admin/sensors/sensor/import/").content.decode().partition("<h1")[2].partition("</h1>")[0]
        )
        assert "Sensors" in heading
        assert "Import sensors" in heading
