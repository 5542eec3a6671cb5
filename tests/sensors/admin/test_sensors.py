from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.contrib.auth.models import User
from django.db import connection
from django.test import AsyncClient
from django.test import Client as Browser
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from config.common.times import to_milliseconds
from config.records.models import ChangeRecord
from notifications.models import Event
from sensors.admin import sensors as sensors_admin
from sensors.ingest.apply import apply_signals
from sensors.ingest.signals import Signal
from sensors.models import Client, Sensor, SensorState
from tests.sensors.registry import hear, link, make_client, make_delivery, make_sensor
from tests.staff import member_of, signed_in

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]

LIST = "/admin/sensors/sensor/"
FILLED = {"address": "Here", "heartbeat_timeout": "60", "active": "on", "notes": ""}


@pytest.fixture
def browser() -> Browser:
    hear()
    return signed_in("registrar")


def page(sensor_id: str) -> str:
    return f"{LIST}{sensor_id}/change/"


def told(answer: Any) -> str:
    """Return the messages that the next page shows."""
    return " ".join(str(message) for message in answer.context["messages"])


class TestList:
    @pytest.fixture(autouse=True)
    def fleet(self) -> None:
        now = timezone.now()
        for sensor_id in ("open1", "shut1", "lost1", "never1"):
            make_sensor(sensor_id, address=f"{sensor_id[:-1]} gate", active=sensor_id != "never1")
        SensorState.objects.exclude(pk="never1").update(value=0, changed_at=now, last_at=now, seen_at=now)
        SensorState.objects.filter(pk="open1").update(value=1)
        SensorState.objects.filter(pk="lost1").update(lost_at=now)
        link("open1", make_client("alarm"))

    def found(self, browser: Browser, query: str) -> list[str]:
        return [sensor.pk for sensor in browser.get(f"{LIST}?{query}").context["cl"].result_list]

    @pytest.mark.parametrize(
        ("query", "found"),
        [
            ("", ["lost1", "never1", "open1", "shut1"]),
            ("q=OPEN1", ["open1"]),
            ("q=shut+gate", ["shut1"]),
            ("q=alar", ["open1"]),
            ("connection=online", ["open1", "shut1"]),
            ("connection=lost", ["lost1"]),
            ("connection=never_seen", ["never1"]),
            ("connection=nonsense", ["lost1", "never1", "open1", "shut1"]),
            ("state=1", ["open1"]),
            ("state=0", ["lost1", "shut1"]),
            ("active=0", ["never1"]),
        ],
    )
    def test_is_narrowed_by_search_and_filters(self, browser: Browser, query: str, found: list[str]) -> None:
        assert self.found(browser, query) == found

    def test_is_narrowed_by_client(self, browser: Browser) -> None:
        assert self.found(browser, f"clients__id__exact={Client.objects.get().pk}") == ["open1"]

    def test_says_what_is_known_in_words(self, browser: Browser) -> None:
        text = browser.get(f"{LIST}?q=open1").content.decode()
        assert all(word in text for word in ("open gate", ">open<", "online", "just now", "alarm"))

    def test_costs_the_same_whatever_the_number(self, browser: Browser, django_assert_num_queries: Any) -> None:
        browser.get(LIST)
        with django_assert_num_queries(self.statements(browser, f"{LIST}?q=open1")):
            browser.get(LIST)

    def statements(self, browser: Browser, path: str) -> int:
        with CaptureQueriesContext(connection) as seen:
            browser.get(path)
        return len(seen)

    def test_a_sensor_cannot_be_deleted(self, browser: Browser) -> None:
        assert browser.post(f"{LIST}open1/delete/", {"post": "yes"}).status_code == 403


class TestForm:
    def test_registers_by_the_service(self, browser: Browser) -> None:
        client = make_client()
        answer = browser.post(f"{LIST}add/", {**FILLED, "id": "0xA", "linked": [client.pk]})
        assert answer.status_code == 302
        change = ChangeRecord.objects.get()
        assert (change.actor, change.object_id, change.after["clients"]) == ("staff:olga", "0xA", [client.pk])
        assert SensorState.objects.get().sensor_id == "0xA"
        assert Event.objects.get().type == "registry.created"

    @pytest.mark.parametrize(
        ("field", "values"),
        [
            ("id", {"id": "0x-A"}),
            ("id", {"id": "import"}),
            ("id", {"id": "taken"}),
            ("address", {"id": "a", "address": " "}),
            ("heartbeat_timeout", {"id": "a", "heartbeat_timeout": "0"}),
            ("linked", {"id": "a", "linked": ["4711"]}),
        ],
    )
    def test_names_the_rule_at_its_field(self, browser: Browser, field: str, values: dict[str, Any]) -> None:
        make_sensor("taken")
        answer = browser.post(f"{LIST}add/", {**FILLED, **values})
        assert list(answer.context["adminform"].form.errors) == [field]
        assert Sensor.objects.count() == 1

    def test_changes_only_what_this_person_changed(self, browser: Browser) -> None:
        make_sensor("0xA", address="Here", heartbeat_timeout=60)
        Sensor.objects.update(notes="written by another meanwhile")
        browser.post(page("0xA"), {**FILLED, "address": "There", "notes": "written by another meanwhile"})
        (change,) = ChangeRecord.objects.all()
        assert [name for name in change.after if change.after[name] != change.before[name]] == ["address"]

    def test_saving_what_is_there_leaves_no_trace(self, browser: Browser) -> None:
        client = make_client()
        make_sensor("0xA", address="Here", heartbeat_timeout=60, muted_until=datetime(2030, 1, 1, tzinfo=UTC))
        link("0xA", client)
        muted = {"muted_until_0": "2030-01-01", "muted_until_1": "00:00:00"}
        assert browser.post(page("0xA"), {**FILLED, **muted, "linked": [client.pk]}).status_code == 302
        assert not ChangeRecord.objects.exists()

    def test_links_and_unlinks(self, browser: Browser) -> None:
        old, new = make_client("old"), make_client("new")
        make_sensor("0xA", address="Here", heartbeat_timeout=60)
        link("0xA", old)
        owed = make_delivery("0xA", old)
        browser.post(page("0xA"), {**FILLED, "linked": [new.pk]})
        owed.refresh_from_db()
        assert (list(Sensor.objects.get().clients.all()), owed.status) == ([new], "cancelled")

    def test_a_viewer_looks_and_changes_nothing(self) -> None:
        make_sensor("0xA")
        viewer = signed_in("viewer")
        assert viewer.get(page("0xA")).status_code == 200
        assert viewer.post(page("0xA"), FILLED).status_code == 403
        assert viewer.get(f"{LIST}import/").status_code == 403


class TestPage:
    def test_shows_history_deliveries_and_changes(self, browser: Browser) -> None:
        make_sensor("0xA")
        link("0xA", make_client("alarm"))
        at = to_milliseconds(timezone.now() - timedelta(hours=2))
        apply_signals([Signal("0xA", at, "a", 1, at)])
        browser.post(page("0xA"), {**FILLED, "address": "There"})
        answer = browser.get(page("0xA"))
        shown = answer.context["page"]
        assert [bar.kind for bar in shown.history.chart.bars] == ["unknown", "open"]
        assert [row.what for row in shown.history.rows] == ["Door opened"]
        assert [delivery.type for delivery, _ in shown.deliveries] == ["sensor.state_changed"]
        assert [change.actor for change in shown.changes] == ["staff:olga"]
        text = answer.content.decode()
        assert f"/admin/records/changerecord/{shown.changes[0].pk}/revert/" in text
        assert text.count('<span title="sensor.state_changed">Door opened</span>') == 2, "the event and its delivery"

    def test_during_an_outage_it_says_so(self) -> None:
        make_sensor("0xA")
        assert "We cannot receive signals" in signed_in("viewer").get(page("0xA")).content.decode()

    def test_text_of_others_stays_text(self, browser: Browser) -> None:
        make_sensor("0xA", address="<script>alert(1)</script>")
        link("0xA", make_client("<b>bold</b>"))
        text = browser.get(page("0xA")).content.decode()
        assert "<script>alert" not in text
        assert "<b>bold" not in text


class TestBulkActions:
    @pytest.fixture(autouse=True)
    def fleet(self) -> None:
        for n in range(4):
            make_sensor(f"s{n}", active=n > 0)

    def run(self, browser: Browser, action: str, ids: list[str], **more: Any) -> Any:
        return browser.post(LIST, {"action": action, "_selected_action": ids, **more}, follow=True)

    def test_ask_first(self, browser: Browser) -> None:
        answer = self.run(browser, "deactivate", ["s1", "s2"])
        assert (answer.context["count"], answer.context["names"]) == (2, ["s1", "s2"])
        assert Sensor.objects.filter(active=True).count() == 3

    def test_deactivate_and_count(self, browser: Browser) -> None:
        answer = self.run(browser, "deactivate", ["s0", "s1", "s2"], confirmed="yes")
        assert told(answer) == "2 sensors deactivated. 1 unchanged."
        assert list(Sensor.objects.filter(active=True).values_list("pk", flat=True)) == ["s3"]

    def test_activate_all_that_the_list_holds(self, browser: Browser) -> None:
        answer = self.run(browser, "activate", ["s0"], confirmed="yes", select_across="1")
        assert told(answer) == "1 sensor activated. 3 unchanged."

    def test_link_to_a_client(self, browser: Browser) -> None:
        client = make_client()
        answer = self.run(browser, "link_to_client", ["s1", "s2"], confirmed="yes", client=client.pk)
        assert told(answer) == "2 sensors linked."
        assert client.links.count() == 2

    def test_several_are_muted_and_the_list_says_until_when(self, browser: Browser) -> None:
        question = self.run(browser, "mute", ["s1", "s2"]).content.decode()
        assert "Doors that open or close are reported as before" in question
        self.run(browser, "mute", ["s1", "s2"], confirmed="yes", length="8h")
        ends = Sensor.objects.filter(pk__in=["s1", "s2"]).values_list("muted_until", flat=True)
        assert all(timedelta(hours=7.9) < end - timezone.now() <= timedelta(hours=8) for end in ends if end)
        page = browser.get(LIST, {"muted": "1"})
        assert [sensor.pk for sensor in page.context["cl"].result_list] == ["s1", "s2"]
        assert page.content.decode().count("muted until <time") == 2
        self.run(browser, "mute", ["s1"], confirmed="yes", length="end")
        assert Sensor.objects.get(pk="s1").muted_until is None

    def test_link_to_nobody_asks_again(self, browser: Browser) -> None:
        answer = self.run(browser, "link_to_client", ["s1"], confirmed="yes", client="")
        assert "client" in answer.context["form"].errors

    def test_too_many_are_refused(self, browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(sensors_admin, "MOST_AT_ONCE", 2)
        answer = self.run(browser, "deactivate", ["s1", "s2", "s3"], confirmed="yes")
        assert "narrow down the list" in told(answer)
        assert Sensor.objects.filter(active=True).count() == 3

    def test_are_not_for_viewers(self) -> None:
        self.run(signed_in("viewer"), "deactivate", ["s1"], confirmed="yes")
        assert Sensor.objects.filter(active=True).count() == 3


class TestExport:
    def export(self, **query: str) -> list[bytes]:
        person: User = member_of("viewer")

        async def fetch() -> bytes:
            browser = AsyncClient()
            await browser.aforce_login(person)
            answer: Any = await browser.get(f"{LIST}export/", query)
            return b"".join([piece async for piece in answer])

        return async_to_sync(fetch)().splitlines()[1:]

    def test_is_the_table_that_the_import_takes(self) -> None:
        make_sensor("0xA", address="=1")
        assert self.export() == [b"0xA,'=1,,true,3600,"]

    @pytest.mark.parametrize(
        ("query", "ids"),
        [
            ({"q": "north"}, [b"a1", b"a2"]),
            ({"q": "north", "active": "0"}, [b"a2"]),
            ({"active": "1", "p": "7"}, [b"a1", b"b1"]),
        ],
    )
    def test_is_what_the_list_shows_on_all_its_pages(self, query: dict[str, str], ids: list[bytes]) -> None:
        for pk, address, active in (("a1", "north 1", True), ("a2", "north 2", False), ("b1", "south", True)):
            make_sensor(pk, address=address, active=active)
        assert [line.split(b",")[0] for line in self.export(**query)] == ids

    def test_the_button_carries_what_the_list_is_asked_for(self) -> None:
        make_sensor("a1", address="north 1")
        page = signed_in("viewer").get(LIST, {"q": "north", "active": "1"}).content.decode()
        assert f'href="{LIST}export/?active=1&amp;q=north"' in page
