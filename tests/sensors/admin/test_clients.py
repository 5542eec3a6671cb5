import re
import uuid
from datetime import UTC, datetime, timedelta
from ipaddress import ip_network
from typing import Any

import pytest
from django.test import Client as Browser
from django.utils import timezone

from config.common.encryption import decrypt, encrypt
from config.records.models import AccessKey, ChangeRecord
from notifications.models import Endpoint
from sensors.admin import clients as clients_admin
from sensors.admin.client_page import delivery_record
from sensors.errors import ClientNotFound
from sensors.models import Client
from tests.notifications.sending.deliveries import SECRET
from tests.sensors.registry import hear, link, make_client, make_delivery, make_sensor
from tests.staff import signed_in
from tests.webhook_receiver import run_receiver

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]

LIST = "/admin/sensors/client/"
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


@pytest.fixture
def browser() -> Browser:
    hear()
    return signed_in("registrar")


def filled(**more: Any) -> dict[str, Any]:
    return {"name": "bell", "url": "https://bell.example/", "active": "on", "form_id": uuid.uuid4(), **more}


def owe_many(client: Client, count: int) -> None:
    for number in range(count):
        make_delivery(f"s{number}", client)


class TestAdd:
    def test_shows_the_secret_once(self, browser: Browser) -> None:
        answer = browser.post(f"{LIST}add/", filled())
        secret = answer.context["secret"]
        assert (answer.status_code, secret[:6]) == (200, "whsec_")
        assert decrypt(bytes(Endpoint.objects.get().secret)).decode() == secret
        assert secret not in browser.get(f"{LIST}{Client.objects.get().pk}/change/").content.decode()

    def test_sent_twice_makes_one_client(self, browser: Browser) -> None:
        form = filled()
        assert [browser.post(f"{LIST}add/", form).status_code for _ in range(2)] == [200, 409]
        assert Client.objects.count() == 1

    def test_names_the_rule_at_its_field(self, browser: Browser) -> None:
        answer = browser.post(f"{LIST}add/", filled(url="https://anna@bell.example/"))
        assert list(answer.context["adminform"].form.errors) == ["url"]
        assert not Client.objects.exists()


class TestChange:
    def test_is_written_by_the_service(self, browser: Browser) -> None:
        client = make_client()
        browser.post(f"{LIST}{client.pk}/change/", filled(name="watch", url="https://new.example/"))
        change = ChangeRecord.objects.get()
        assert [name for name in change.after if change.after[name] != change.before[name]] == ["url"]
        assert change.actor == "staff:olga"

    def test_unticking_active_cancels_what_is_owed(self, browser: Browser) -> None:
        client = make_client()
        owed = make_delivery("0xA", client)
        form = filled(name="watch", url=client.endpoint.url)
        del form["active"]
        browser.post(f"{LIST}{client.pk}/change/", form)
        owed.refresh_from_db()
        assert owed.status == "cancelled"

    def test_shows_a_switched_off_endpoint_as_inactive(self, browser: Browser) -> None:
        client = make_client()
        Endpoint.objects.update(active=False)
        answer = browser.get(f"{LIST}{client.pk}/change/")
        assert answer.context["adminform"].form.initial["active"] is False


class TestPage:
    def test_shows_sensors_deliveries_and_success(self, browser: Browser) -> None:
        client = make_client()
        make_sensor("0xA")
        link("0xA", client)
        for n, status in enumerate(["delivered", "delivered", "delivered", "dead"]):
            make_delivery(f"s{n}", client, status=status, due_at=None)
        make_delivery("0xA", client)
        page = browser.get(f"{LIST}{client.pk}/change/").context["page"]
        assert ([sensor.pk for sensor, _ in page.sensors.rows], page.sensor_count) == (["0xA"], 1)
        assert (page.record.rate, page.record.waiting.count, page.record.dead, len(page.deliveries)) == (75.0, 1, 1, 5)

    def test_every_sensor_is_drawn_on_some_page(self, browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("sensors.admin.client_page.SENSORS_SHOWN", 2)
        client = make_client()
        for sensor_id in ("A", "B", "C", "D", "E"):
            make_sensor(sensor_id)
            link(sensor_id, client)
        address, seen = "?show=signal&period=7d", []
        while address:
            page = browser.get(f"{LIST}{client.pk}/change/{address}").context["page"]
            assert list(page.history.charts) == [sensor.pk for sensor, _ in page.sensors.rows]
            assert "show=signal" in page.history.csv
            seen.append(list(page.history.charts))
            address = f"?{page.sensors.later}" if page.sensors.later else ""
        assert seen == [["A", "B"], ["C", "D"], ["E"]]
        back = browser.get(f"{LIST}{client.pk}/change/?{page.sensors.earlier}").context["page"]
        assert list(back.history.charts) == ["C", "D"]
        assert all("first=C" in link.query for link in (*back.history.presets, *back.history.moves, *back.history.tabs))

    def test_the_charts_begin_with_any_sensor_that_is_typed(self, browser: Browser) -> None:
        client = make_client()
        for sensor_id in ("A", "B1", "C"):
            make_sensor(sensor_id)
            link(sensor_id, client)
        for typed, shown in (("B", ["B1", "C"]), ("Z", [])):
            page = browser.get(f"{LIST}{client.pk}/change/", {"first": typed}).context["page"]
            assert list(page.history.charts) == shown
        for odd in ("\0", '"><b>'):
            assert "><b>" not in browser.get(f"{LIST}{client.pk}/change/", {"first": odd}).content.decode()

    @pytest.mark.parametrize(
        ("state", "words"),
        [
            (
                {"failures": 7, "opened_at": NOON, "probe_at": NOON},
                ["paused: no response", "Next retry", "7"],
            ),
            (
                {"not_before": timezone.now() + timedelta(days=1)},
                ["paused: the receiver asked for a break", "Asked to wait"],
            ),
            ({"active": False, "off_reason": "410: the receiver is gone"}, ["disabled", "410: the receiver is"]),
            ({"paused": True}, ["paused"]),
            ({"not_before": NOON}, ["without delay"]),
        ],
    )
    def test_says_how_its_receiver_fares(self, browser: Browser, state: dict[str, Any], words: list[str]) -> None:
        client = make_client()
        Endpoint.objects.update(**state)
        page = browser.get(f"{LIST}{client.pk}/change/").content.decode()
        assert [word for word in words if word not in page] == []

    def test_without_deliveries_there_is_no_rate(self) -> None:
        assert delivery_record(make_client().endpoint_id).rate is None

    def test_counts_all_that_waits_and_not_a_sample(self, browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("sensors.admin.client_page.SAMPLE", 2)
        client = make_client()
        owe_many(client, 4)
        assert str(delivery_record(client.endpoint_id).waiting) == "4"
        monkeypatch.setattr("notifications.selectors.MOST_WAITING", 3)
        assert "more than 3" in browser.get(f"{LIST}{client.pk}/change/").content.decode()

    def test_the_list_says_who_does_not_answer_how_many_wait_and_since_when(
        self, browser: Browser, django_assert_max_num_queries: Any
    ) -> None:
        for name in ("one", "two", "three"):
            owe_many(make_client(name), 3)
        Endpoint.objects.exclude(client__name="three").update(opened_at=NOON, probe_at=NOON, failures=5)
        with django_assert_max_num_queries(10):
            text = browser.get(LIST).content.decode()
        assert (text.count("not responding"), text.count("waiting: 3, since ")) == (2, 2)

    def test_the_list_says_who_is_paused(self, browser: Browser) -> None:
        make_client("one")
        make_client("two")
        Endpoint.objects.filter(client__name="two").update(paused=True)
        text = browser.get(LIST).content.decode()
        assert (text.count("paused"), text.count("https://")) == (1, 2)


class TestActions:
    def test_pause_and_resume_ask_and_act(self, browser: Browser) -> None:
        client = make_client()
        assert browser.get(f"{LIST}{client.pk}/pause/").status_code == 200
        assert not Endpoint.objects.get().paused
        browser.post(f"{LIST}{client.pk}/pause/")
        assert Endpoint.objects.get().paused
        browser.post(f"{LIST}{client.pk}/resume/")
        assert not Endpoint.objects.get().paused

    def test_only_what_makes_sense_is_offered(self, browser: Browser) -> None:
        client = make_client()
        text = browser.get(f"{LIST}{client.pk}/change/").content.decode()
        assert f"{client.pk}/pause/" in text
        assert f"{client.pk}/resume/" not in text
        assert f"{client.pk}/new-key/" not in text, "keys are the administrator's"

    def test_rotation_shows_the_new_secret_and_counts_once(self, browser: Browser) -> None:
        client = make_client()
        form = {"form_id": uuid.uuid4()}
        answers = [browser.post(f"{LIST}{client.pk}/rotate/", form) for _ in range(2)]
        assert [answer.status_code for answer in answers] == [200, 409]
        endpoint = Endpoint.objects.get()
        assert decrypt(bytes(endpoint.secret)).decode() == answers[0].context["secret"]
        assert decrypt(bytes(endpoint.old_secret)) == b"secret", "the second click must not push the old secret out"

    def test_an_administrator_makes_a_key_of_the_client(self) -> None:
        client = make_client()
        answer = signed_in("administrator").post(f"{LIST}{client.pk}/new-key/", {"form_id": uuid.uuid4()})
        key = AccessKey.objects.get()
        assert (key.kind, key.subject, answer.context["text"][:11]) == ("client", str(client.pk), key.prefix[:11])

    @pytest.mark.parametrize(
        ("path", "words"),
        [
            ("/200/a", r"Response 200 after \d+ ms\."),
            ("/500/a", r"The test message failed after \d+ ms: answered 500\."),
        ],
    )
    def test_a_ping_shows_the_answer(self, browser: Browser, settings: Any, path: str, words: str) -> None:
        settings.WEBHOOK_ALLOWED_NETWORKS = [ip_network("127.0.0.1")]
        client = make_client()
        with run_receiver() as receiver:
            Endpoint.objects.update(url=receiver.url(path), secret=encrypt(SECRET.encode()))
            assert "Send a test message" in browser.get(f"{LIST}{client.pk}/ping/").content.decode()
            assert receiver.calls == []
            page = browser.post(f"{LIST}{client.pk}/ping/", follow=True).content.decode()
        assert (len(receiver.calls), bool(re.search(words, page))) == (1, True)

    def test_an_inactive_client_is_not_pinged(self, browser: Browser) -> None:
        client = make_client()
        Endpoint.objects.update(active=False)
        assert f"{client.pk}/ping/" not in browser.get(f"{LIST}{client.pk}/change/").content.decode()
        assert browser.post(f"{LIST}{client.pk}/ping/")["Location"] == f"{LIST}{client.pk}/change/"

    @pytest.mark.parametrize("action", ["ping", "pause", "rotate", "new-key"])
    def test_are_not_for_viewers(self, action: str) -> None:
        client = make_client()
        answer = signed_in("viewer").post(f"{LIST}{client.pk}/{action}/", {"form_id": uuid.uuid4()})
        assert (answer.status_code, ChangeRecord.objects.count()) == (403, 0)


class TestMuteMany:
    def mute(self, browser: Browser, *clients: Client, **answers: str) -> Any:
        chosen = {"action": "mute", "_selected_action": [client.pk for client in clients]}
        return browser.post(LIST, {**chosen, **answers}, follow=True)

    def test_names_them_says_what_it_silences_and_mutes(self, browser: Browser) -> None:
        clients = [make_client("bell"), make_client("gate")]
        question = self.mute(browser, *clients).content.decode()
        assert all(words in question for words in ("2 clients:", "bell", "gate", "lost"))
        page = self.mute(browser, *clients, confirmed="yes", length="8h").content.decode()
        assert "Mute updated for 2 clients." in page
        ends = Client.objects.values_list("muted_until", flat=True)
        assert all(timedelta(hours=7.9) < end - timezone.now() <= timedelta(hours=8) for end in ends if end)
        assert page.count("muted until <time") == 2

    def test_is_not_for_viewers(self) -> None:
        client = make_client("bell")
        self.mute(signed_in("viewer"), client, confirmed="yes", length="1h")
        client.refresh_from_db()
        assert client.muted_until is None

    def test_takes_the_first_of_too_many(self, browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(clients_admin, "MOST_AT_ONCE", 1)
        clients = [make_client("bell"), make_client("gate")]
        self.mute(browser, *clients, confirmed="yes", length="8h")
        assert Client.objects.filter(muted_until__isnull=False).get() == clients[0]

    def test_says_how_many_were_refused(self, browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
        def refuse(**values: Any) -> None:
            raise ClientNotFound

        monkeypatch.setattr(clients_admin, "update_client", refuse)
        page = self.mute(browser, make_client("bell"), confirmed="yes", length="1h").content.decode()
        assert "1 skipped." in page
