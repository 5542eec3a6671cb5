from datetime import timedelta
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.apps import apps
from django.contrib import admin
from django.contrib.auth.models import User
from django.test import AsyncClient, Client, RequestFactory
from django.utils import timezone

from config.admin_base import lists
from messaging.models import Message
from processes.exchange.models import ExchangeProcess
from sensors.models import Sensor, SensorState
from tests.config.dashboard.live.records import add_messages, make_process
from tests.sensors.registry import make_client, make_sensor
from tests.staff import member_of, signed_in

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]
SENSORS, CLIENTS = "/admin/sensors/sensor/", "/admin/sensors/client/"


@pytest.fixture
def viewer() -> Client:
    return signed_in("viewer")


def shown(client: Client, **query: str) -> list[str]:
    return [sensor.pk for sensor in client.get(SENSORS, query).context["cl"].result_list]


class TestCount:
    @pytest.mark.parametrize(("number", "words"), [(3, "Total: 3"), (53, "1–50 of 53")])
    def test_says_how_many_there_are(self, viewer: Client, number: int, words: str) -> None:
        for each in range(number):
            make_sensor(f"s{each:03}")
        assert words in viewer.get(SENSORS).content.decode()

    def test_ends_at_its_bound_and_so_do_the_pages(self, viewer: Client, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(lists, "MOST_COUNTED", 100)
        for each in range(103):
            make_sensor(f"s{each:03}")
        first = viewer.get(SENSORS).content.decode()
        assert "1–50 of more than 100" in first
        assert 'rel="next"' in first
        last = viewer.get(SENSORS, {"p": "2"}).content.decode()
        assert "51–100 of more than 100. Use filters or the search" in last
        assert 'rel="next"' not in last
        assert viewer.get(SENSORS, {"p": "3"}).status_code == 302

    def test_all_are_chosen_without_a_number_that_nobody_knows(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for each in range(60):
            make_sensor(f"s{each:03}")
        browser = signed_in("registrar")
        assert "Select all 60 sensors" in browser.get(SENSORS).content.decode()
        monkeypatch.setattr(lists, "MOST_COUNTED", 55)
        page = browser.get(SENSORS).content.decode()
        assert "Select all rows of all pages" in page
        assert "Select all 56" not in page
        assert "All 56" not in page


class TestSorting:
    @pytest.fixture(autouse=True)
    def _three(self) -> None:
        for pk, address, hours in (("a", "South", 2), ("b", "North", 1), ("c", "West", 3)):
            make_sensor(pk, address=address)
            at = timezone.now() - timedelta(hours=hours)
            SensorState.objects.filter(pk=pk).update(value=1, changed_at=at, last_at=at, seen_at=at)

    # The first column holds the checkbox, for those who have one.
    @pytest.mark.parametrize(
        ("order", "ids"),
        [("1", ["b", "a", "c"]), ("-1", ["c", "a", "b"]), ("3", ["c", "a", "b"]), ("-5", ["b", "a", "c"])],
    )
    def test_goes_by_every_column_that_has_an_order(self, viewer: Client, order: str, ids: list[str]) -> None:
        assert shown(viewer, o=order) == ids

    def test_an_exchange_goes_by_the_number_of_its_messages_and_of_its_replies(self, viewer: Client) -> None:
        few, many = make_process(name="few"), make_process(name="many")
        add_messages(few, 1)
        add_messages(many, 10)
        ExchangeProcess.objects.filter(pk=few.pk).update(replies=["r"] * 10)
        ExchangeProcess.objects.filter(pk=many.pk).update(replies=["r"] * 9)
        address = "/admin/exchange/exchangeprocess/"
        columns = viewer.get(address).context["cl"].list_display
        for name, least in (("message_count", few), ("reply_count", many)):
            rows = viewer.get(address, {"o": columns.index(name)}).context["cl"].result_list
            assert [row.pk == least.pk for row in rows] == [True, False], name

    def test_a_message_goes_by_how_long_it_has_waited(self, viewer: Client) -> None:
        slow, quick, waits = (message.pk for message in add_messages(make_process(), 3))
        now = timezone.now()
        for pk, began, took in ((slow, 9, 5), (quick, 8, 1), (waits, 3, None)):
            accepted = now - timedelta(hours=began)
            settled = None if took is None else accepted + timedelta(hours=took)
            Message.objects.filter(pk=pk).update(accepted_at=accepted, settled_at=settled)
        address = "/admin/messaging/message/"
        place = viewer.get(address).context["cl"].list_display.index("waiting")
        rows = viewer.get(address, {"o": place}).context["cl"].result_list
        assert [row.pk for row in rows] == [quick, waits, slow]

    def test_of_a_long_list_goes_by_columns_with_an_index_alone(
        self, viewer: Client, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(lists, "MOST_COUNTED", 2)
        assert shown(viewer, o="-0") == ["c", "b", "a"]
        assert shown(viewer, o="-1") == ["a", "b", "c"]
        # A search that leaves few rows is sorted as any short list.
        assert shown(viewer, o="-1", q="o") == ["a", "b"]


LISTS = {model._meta.label_lower: list_admin for model, list_admin in admin.site._registry.items()}
LISTED = "a list of several: the filter finds one of them"
WRITTEN = "a sentence that is written from several columns, which differs by language"
UNSORTED = {
    "auth.group": {"purpose": WRITTEN},
    "auth.user": {"group_names": LISTED},
    "coordination.appevent": {
        "progress": "the bar of what the status says, and that sorts",
        "readers": LISTED,
    },
    "django_celery_beat.crontabschedule": {"words": WRITTEN, "cron": "five fields, of which none comes first"},
    "django_celery_beat.periodictask": {"sentence": WRITTEN, "times": WRITTEN},
    "notifications.parkedmessage": {"beginning": "bytes of any kind: their order says nothing"},
    "notifications.rung": {"whom": LISTED},
    "records.changerecord": {"touched": LISTED},
    "records.logentry": {"about": WRITTEN},
    "sensors.rejectedsignal": {"register_link": "a button"},
    "sensors.sensor": {"client_names": LISTED},
    "workflows.workflowdefinition": {"instances": "a link"},
}
"""Columns that no list is sorted by, and why."""


class TestColumns:
    @pytest.mark.parametrize("label", LISTS)
    def test_every_one_sorts_its_list_or_has_a_reason(self, label: str) -> None:
        root = User.objects.create_superuser("root")

        def read_page(**query: str) -> Any:
            request = RequestFactory().get("/", query)
            request.user = root
            return LISTS[label].get_changelist_instance(request)

        page = read_page()
        names = [name for name in page.list_display if name != "action_checkbox"]
        unsorted = {name for name in names if not page.get_ordering_field(name)}
        assert unsorted == UNSORTED.get(label, {}).keys()
        for name in set(names) - unsorted:
            place = page.list_display.index(name)
            for order, way in ((f"{place}", "asc"), (f"-{place}", "desc")):
                ordered = read_page(o=order)
                assert ordered.get_ordering_field_columns() == {place: way}, name
                list(ordered.queryset[:5])  # the database takes it

    @pytest.mark.parametrize(
        "label",
        [f"messaging.{name}" for name in ("enterprise", "subsystem", "device", "exchangedatabase")]
        + [f"notifications.{name}" for name in ("theme", "follower")],
    )
    def test_an_empty_list_says_what_to_do(self, label: str) -> None:
        assert str(admin.site.get_model_admin(apps.get_model(label)).empty_text)  # type: ignore[attr-defined]


class TestExport:
    def fetch(self, person: User, address: str, **query: str) -> list[str]:
        async def read() -> bytes:
            browser = AsyncClient()
            await browser.aforce_login(person)
            answer: Any = await browser.get(address, query)
            return b"".join([piece async for piece in answer])

        return async_to_sync(read)().decode().splitlines()

    def test_has_the_columns_of_the_list_in_words_with_times_in_utc(self) -> None:
        make_client("=bad")
        make_client("good", muted_until="2999-01-02T03:04:05Z")
        lines = self.fetch(member_of("viewer"), f"{CLIENTS}export/")
        assert lines[0] == "Name,ID,URL,Sensors,State,Muted"
        assert lines[1].startswith("'=bad,")
        assert lines[2].endswith("active,muted until 2999-01-02T03:04:05.000Z")

    def test_is_what_the_search_and_the_filters_leave_in_their_order(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("config.admin_base.exports.ROWS_AT_ONCE", 2)
        for name in ("north 2", "north 1", "south", "north 3"):
            make_client(name, active=name != "north 1")
        lines = self.fetch(member_of("viewer"), f"{CLIENTS}export/", q="north", active="1", o="-0")
        assert [line.split(",")[0] for line in lines[1:]] == ["north 3", "north 2"]

    def test_of_too_many_rows_asks_to_narrow_the_list(self, viewer: Client, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(lists, "MOST_EXPORTED", 1)
        make_client("a")
        make_client("b")
        answer = viewer.get(f"{CLIENTS}export/", {"active": "1"}, follow=True)
        assert answer.redirect_chain == [(f"{CLIENTS}?active=1", 302)]
        assert "narrow down the list" in answer.content.decode()

    def test_is_for_those_who_may_see_the_list(self, client: Client) -> None:
        client.force_login(User.objects.create_user("ivan", is_staff=True))
        assert client.get(f"{CLIENTS}export/").status_code == 403

    def test_a_filter_that_is_none_leads_back(self, viewer: Client) -> None:
        assert viewer.get(f"{CLIENTS}export/", {"nonsense": "1"})["Location"] == f"{CLIENTS}?e=1"


class TestEmptyList:
    def test_says_what_to_do(self) -> None:
        page = signed_in("registrar").get(SENSORS).content.decode()
        assert "Register a sensor by its id, or import a table of them." in page
        make_sensor("a")
        page = signed_in("registrar", "ivan").get(SENSORS, {"q": "nothing"}).content.decode()
        assert "Register a sensor by its id" not in page
        assert "Reset filters" in page
        assert Sensor.objects.exists()


class TestFilters:
    def test_are_kept_on_the_way_to_an_object_and_back(self, viewer: Client) -> None:
        make_sensor("a", address="North")
        page = viewer.get(SENSORS, {"q": "nor", "active": "1"}).content.decode()
        link = f"{SENSORS}a/change/?_changelist_filters=q%3Dnor%26active%3D1"
        assert f'href="{link}"' in page
        assert f'href="{SENSORS}?q=nor&amp;active=1"' in viewer.get(link).content.decode()
