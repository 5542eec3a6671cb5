"""What happened, over REST: history, events and deliveries."""

import csv
import io
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.http import StreamingHttpResponse
from django.test import AsyncClient
from django.test import Client as Browser
from django.utils import timezone

from config.access.keys import create_key
from config.common.times import format_time, to_milliseconds
from notifications.models import Delivery
from sensors.history import csv_export
from sensors.history.database import store_in_transaction
from sensors.ingest.apply import apply_signals
from sensors.ingest.signals import Signal
from sensors.models import Client
from tests.sensors.registry import link, make_client, make_sensor
from tests.staff import signed_in

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
CALLS = [
    "/sensors/0xA/history/",
    "/clients/{client}/history/",
    "/sensors/0xA/events/",
    "/clients/{client}/events/",
    "/sensors/0xA/deliveries/",
    "/clients/{client}/deliveries/",
    "/deliveries/{delivery}/",
]


@pytest.fixture
def owner() -> Client:
    """A client that has one sensor."""
    make_sensor()
    client = make_client()
    link("0xA", client)
    return client


@pytest.fixture
def key() -> str:
    return create_key(name="reader", actor="test", scopes=["history:read"])[1]


def client_key(client: Client) -> str:
    return create_key(name="theirs", actor="test", kind="client", subject=str(client.pk))[1]


def get(path: str, key: str | None = None, **params: str) -> Any:
    headers = {} if key is None else {"Authorization": f"Bearer {key}"}
    return Browser(headers=headers).get(path if path.startswith("http") else f"/api/v1{path}", params)


def get_table(path: str, key: str, **params: str) -> tuple[Any, list[list[str]]]:
    """Call as a server with ASGI does; return the answer and the rows of its table."""

    async def fetch() -> tuple[Any, bytes]:
        answer: Any = await AsyncClient().get(f"/api/v1{path}", params, headers={"Authorization": f"Bearer {key}"})
        if not isinstance(answer, StreamingHttpResponse):
            return answer, answer.content
        assert answer.is_async, "a synchronous iterator would be gathered whole"
        return answer, b"".join([piece async for piece in answer])

    answer, content = async_to_sync(fetch)()
    return answer, list(csv.reader(io.StringIO(content.decode(), newline="")))


def accept(*values: int, sensor: str = "0xA", since: datetime = NOON, id: str = "id-{n}") -> list[Signal]:
    """Let a sensor send these values a minute apart."""
    start = to_milliseconds(since)
    sent = [
        Signal(sensor, start + 60_000 * n, id.format(n=n), value, start + 60_000 * n + 5, "the-chain")
        for n, value in enumerate(values)
    ]
    apply_signals(sent, also=store_in_transaction)
    return sent


class TestAccess:
    @pytest.fixture
    def calls(self, owner: Client) -> list[str]:
        accept(1)
        delivery = Delivery.objects.get()
        return [call.format(client=owner.pk, delivery=delivery.pk) for call in CALLS]

    def statuses(self, calls: list[str], key: str | None) -> set[int]:
        return {get(call, key).status_code for call in calls}

    def test_nobody_is_let_in_without_a_key(self, calls: list[str]) -> None:
        assert self.statuses([*calls, "/signals/rejected/"], None) == {401}

    def test_a_service_needs_the_scope(self, calls: list[str], key: str) -> None:
        wrong = create_key(name="writer", actor="test", scopes=["registry:read", "signals:write", "operations"])[1]
        assert self.statuses([*calls, "/signals/rejected/"], wrong) == {403}
        assert self.statuses([*calls, "/signals/rejected/"], key) == {200}

    def test_a_client_reads_its_own(self, calls: list[str], owner: Client) -> None:
        mine = client_key(owner)
        assert self.statuses(calls, mine) == {200}
        assert get("/signals/rejected/", mine).status_code == 403

    def test_a_client_finds_nothing_of_others(self, calls: list[str]) -> None:
        stranger = client_key(make_client("stranger"))
        assert self.statuses(calls, stranger) == {404}

    def test_a_client_sees_of_a_shared_sensor_only_its_own_deliveries(self, calls: list[str], owner: Client) -> None:
        other = make_client("other")
        link("0xA", other)
        accept(0, since=NOON + timedelta(hours=1))
        rows = get("/sensors/0xA/deliveries/", client_key(other)).json()["results"]
        assert [row["client"] for row in rows] == [other.pk]

    def test_staff_read_with_their_session(self, calls: list[str]) -> None:
        browser = signed_in("viewer")
        assert {browser.get(f"/api/v1{call}").status_code for call in calls} == {200}

    def test_the_past_of_what_was_deleted_stays_readable(self, calls: list[str], owner: Client, key: str) -> None:
        owner.sensors.update(active=False)
        Client.objects.update(active=False)
        assert self.statuses(calls, key) == {200}
        assert get("/sensors/0xA/history/", key).json()["results"]
        assert get(f"/clients/{owner.pk}/events/", key).json()["results"]

    @pytest.mark.parametrize(
        ("path", "code"),
        [
            ("/sensors/nobody/history/", "sensor_not_found"),
            ("/sensors/0xa/deliveries/", "sensor_not_found"),
            ("/clients/99999/history/", "client_not_found"),
            ("/clients/99999999999999999999999/events/", "client_not_found"),
            ("/clients/99999/deliveries/", "client_not_found"),
            ("/deliveries/99999999999999999999999/", "delivery_not_found"),
        ],
    )
    def test_what_is_not_there_is_not_found(self, owner: Client, key: str, path: str, code: str) -> None:
        answer = get(path, key)
        assert (answer.status_code, answer.json()["code"]) == (404, code)


class TestHistory:
    def test_lists_signals_newest_first_in_the_shape_of_the_contract(self, owner: Client, key: str) -> None:
        accept(1, 1)
        second, first = get("/sensors/0xA/history/", key).json()["results"]
        assert second == {
            "sensor_id": "0xA",
            "at": "2026-05-01T12:01:00.000Z",
            "data": 1,
            "changed": False,
            "id": "id-1",
            "received_at": "2026-05-01T12:01:00.005Z",
        }
        assert (first["id"], first["changed"]) == ("id-0", True)

    @pytest.mark.parametrize("only", ["true", "false"])
    def test_pages_lead_to_the_end_without_gap_or_repeat(self, owner: Client, key: str, only: str) -> None:
        accept(*(n % 2 for n in range(7)))
        seen, address = [], "/sensors/0xA/history/"
        answer = get(address, key, limit="3", changes=only).json()
        seen += answer["results"]
        while answer["next"]:
            answer = get(answer["next"], key).json()
            seen += answer["results"]
        assert [row["id"] for row in seen] == [f"id-{n}" for n in reversed(range(7))]

    @pytest.mark.parametrize(("only", "ids"), [("true", ["id-2", "id-0"]), ("false", ["id-2", "id-1", "id-0"])])
    def test_changes_only_or_everything(self, owner: Client, key: str, only: str, ids: list[str]) -> None:
        accept(1, 1, 0)
        rows = get("/sensors/0xA/history/", key, changes=only).json()["results"]
        assert [row["id"] for row in rows] == ids

    def test_changes_look_the_same_in_both_lists(self, owner: Client, key: str) -> None:
        accept(1, 0)
        everything = get("/sensors/0xA/history/", key).json()["results"]
        assert get("/sensors/0xA/history/", key, changes="true").json()["results"] == everything

    def test_a_period_has_its_start_and_not_its_end(self, owner: Client, key: str) -> None:
        accept(1, 0, 1, 0)
        period = {"from": "2026-05-01T14:01:00+02:00", "to": "2026-05-01T12:03:00Z"}
        rows = get("/sensors/0xA/history/", key, **period).json()["results"]
        assert [row["id"] for row in rows] == ["id-2", "id-1"]

    @pytest.mark.parametrize(
        ("params", "field"),
        [
            ({"from": "yesterday"}, "from"),
            ({"to": "2026-05-01"}, "to"),
            ({"from": "2026-05-01T12:00:00"}, "from"),
            ({"from": "2026-05-02T00:00:00Z", "to": "2026-05-01T00:00:00Z"}, "to"),
            ({"changes": "perhaps"}, "changes"),
            ({"format": "xml"}, "format"),
            ({"limit": "0"}, "limit"),
            ({"cursor": "made-up"}, "cursor"),
        ],
    )
    def test_what_is_wrong_is_named(self, owner: Client, key: str, params: dict[str, str], field: str) -> None:
        answer = get("/sensors/0xA/history/", key, **params)
        assert answer.status_code == 400
        assert list(answer.json()["data"]["fields"]) == [field]

    def test_any_time_is_possible(self, owner: Client, key: str) -> None:
        accept(1)
        period = {"from": "0001-01-01T00:00:00Z", "to": "9999-12-31T23:59:59Z"}
        assert len(get("/sensors/0xA/history/", key, **period).json()["results"]) == 1
        assert len(get("/sensors/0xA/events/", key, **period).json()["results"]) == 1

    def test_a_page_costs_the_same_statements_whatever_its_length(
        self, owner: Client, key: str, django_assert_max_num_queries: Any
    ) -> None:
        accept(*(n % 2 for n in range(50)))
        with django_assert_max_num_queries(7):
            assert len(get("/sensors/0xA/history/", key).json()["results"]) == 50


class TestClientHistory:
    def test_holds_the_linked_sensors_alone_newest_first(self, owner: Client, key: str) -> None:
        now = timezone.now() - timedelta(hours=1)
        for sensor in ("0xB", "0xC"):
            make_sensor(sensor)
            accept(1, sensor=sensor, since=now)
        link("0xB", owner)
        accept(0, since=now - timedelta(minutes=5))
        rows = get(f"/clients/{owner.pk}/history/", key).json()["results"]
        assert [row["sensor_id"] for row in rows] == ["0xB", "0xA"]

    def test_without_sensors_it_is_empty(self, key: str) -> None:
        lonely = make_client("lonely")
        for list_ in ("history", "events", "deliveries"):
            assert get(f"/clients/{lonely.pk}/{list_}/", key).json() == {"results": [], "next": None}

    def test_takes_31_days_and_no_more(self, owner: Client, key: str) -> None:
        path = f"/clients/{owner.pk}/history/"
        allowed = {"from": format_time(NOON), "to": format_time(NOON + timedelta(days=31))}
        assert get(path, key, **allowed).status_code == 200
        too_long = allowed | {"to": format_time(NOON + timedelta(days=31, milliseconds=1))}
        answer = get(path, key, **too_long)
        assert (answer.status_code, list(answer.json()["data"]["fields"])) == (400, ["from"])
        assert get(path, key, **{"from": "2020-01-01T00:00:00Z"}).status_code == 400

    def test_without_a_beginning_it_begins_31_days_before_its_end(self, owner: Client, key: str) -> None:
        accept(1)
        end = NOON + timedelta(days=31)
        path = f"/clients/{owner.pk}/history/"
        assert len(get(path, key, to=format_time(end)).json()["results"]) == 1
        assert get(path, key, to=format_time(end + timedelta(milliseconds=1))).json()["results"] == []

    def test_the_next_page_keeps_the_beginning_of_the_first(self, owner: Client, key: str) -> None:
        accept(1, 0, 1)
        end = format_time(NOON + timedelta(days=31))
        answer = get(f"/clients/{owner.pk}/history/", key, to=end, limit="2").json()
        assert "from=2026-05-01T12%3A00%3A00.000Z" in answer["next"]
        assert [row["id"] for row in get(answer["next"], key).json()["results"]] == ["id-0"]


class TestTable:
    def test_is_streamed_with_the_columns_of_the_page(self, owner: Client, key: str) -> None:
        accept(1, 1)
        answer, rows = get_table("/sensors/0xA/history/", key, format="csv")
        assert answer["Content-Type"] == "text/csv; charset=utf-8"
        assert 'filename="history.csv"' in answer["Content-Disposition"]
        assert rows == [
            ["sensor_id", "at", "data", "changed", "id", "received_at"],
            ["0xA", "2026-05-01T12:01:00.000Z", "1", "false", "id-1", "2026-05-01T12:01:00.005Z"],
            ["0xA", "2026-05-01T12:00:00.000Z", "1", "true", "id-0", "2026-05-01T12:00:00.005Z"],
        ]

    @pytest.mark.parametrize("only", ["true", "false"])
    def test_holds_all_rows_however_many_pieces_it_takes(
        self, owner: Client, key: str, monkeypatch: pytest.MonkeyPatch, only: str
    ) -> None:
        monkeypatch.setattr(csv_export, "ROWS_AT_ONCE", 3)
        accept(*(n % 2 for n in range(10)))
        _, rows = get_table("/sensors/0xA/history/", key, format="csv", changes=only, limit="2")
        assert [row[4] for row in rows[1:]] == [f"id-{n}" for n in reversed(range(10))]

    def test_a_formula_is_made_text(self, owner: Client, key: str) -> None:
        accept(1, id="-2+3")
        _, rows = get_table("/sensors/0xA/history/", key, format="csv")
        assert rows[1][4] == "'-2+3"

    def test_by_client_within_its_days(self, owner: Client, key: str) -> None:
        accept(1, since=timezone.now() - timedelta(days=1))
        _, rows = get_table(f"/clients/{owner.pk}/history/", key, format="csv")
        assert len(rows) == 2
        period = {"from": "2020-01-01T00:00:00Z"}
        assert get_table(f"/clients/{owner.pk}/history/", key, format="csv", **period)[0].status_code == 400

    def test_accept_asks_for_it_too(self, owner: Client, key: str) -> None:
        answer = Browser(headers={"Authorization": f"Bearer {key}", "Accept": "text/csv"}).get(
            "/api/v1/sensors/nobody/history/"
        )
        assert (answer.status_code, answer.json()["code"]) == (404, "sensor_not_found")


class TestEvents:
    def test_lists_events_newest_first_in_the_shape_of_the_contract(self, owner: Client, key: str) -> None:
        accept(1, 1, 0)
        second, first = get("/sensors/0xA/events/", key).json()["results"]
        assert second == {
            "type": "sensor.state_changed",
            "at": "2026-05-01T12:02:00.000Z",
            "correlation_id": "the-chain",
            "sensor_id": "0xA",
            "address": "1 Gate Street",
            "data": 0,
            "previous": 1,
            "signal_id": "id-2",
        }
        assert first["previous"] is None

    def test_pages_and_period(self, owner: Client, key: str) -> None:
        accept(1, 0, 1, 0)
        period = {"from": "2026-05-01T12:01:00Z"}
        answer = get(f"/clients/{owner.pk}/events/", key, limit="2", **period).json()
        rest = get(answer["next"], key).json()
        times = [row["at"][14:16] for row in [*answer["results"], *rest["results"]]]
        assert (times, rest["next"]) == (["03", "02", "01"], None)

    def test_a_wrong_period_is_named(self, owner: Client, key: str) -> None:
        answer = get("/sensors/0xA/events/", key, to="soon")
        assert (answer.status_code, list(answer.json()["data"]["fields"])) == (400, ["to"])


class TestDeliveries:
    def test_has_the_shape_of_the_contract(self, owner: Client, key: str) -> None:
        accept(1)
        Delivery.objects.update(due_at=timezone.now() + timedelta(hours=1))
        row = get("/sensors/0xA/deliveries/", key).json()["results"][0]
        delivery = Delivery.objects.get()
        assert row == {
            "id": delivery.pk,
            "type": "sensor.state_changed",
            "sensor": "0xA",
            "client": owner.pk,
            "status": "pending",
            "reason": "",
            "attempts": [],
            "next_attempt_at": format_time(delivery.due_at or NOON),
            "correlation_id": delivery.correlation_id,
            "webhook_id": str(delivery.message_id),
        }
        assert get(f"/deliveries/{delivery.pk}/", key).json() == row

    def test_a_superseded_one_says_by_which(self, owner: Client, key: str) -> None:
        accept(1, 0)
        newest, oldest = get(f"/clients/{owner.pk}/deliveries/", key).json()["results"]
        assert (oldest["status"], oldest["reason"]) == ("superseded", f"superseded by {newest['id']}")
        assert oldest["next_attempt_at"] is None

    def test_a_list_of_many_sensors_belongs_to_none(self, owner: Client, key: str) -> None:
        Delivery.objects.create(endpoint=owner.endpoint, type="ping", family="ping", body={}, due_at=NOON)
        assert get(f"/clients/{owner.pk}/deliveries/", key).json()["results"][0]["sensor"] is None

    def test_pages_cost_two_statements(self, owner: Client, key: str, django_assert_max_num_queries: Any) -> None:
        accept(*(n % 2 for n in range(20)))
        with django_assert_max_num_queries(4):
            answer = get(f"/clients/{owner.pk}/deliveries/", key, limit="15").json()
        assert len(answer["results"]) + len(get(answer["next"], key).json()["results"]) == 20


class TestStoreAway:
    @pytest.mark.parametrize("params", [{}, {"changes": "true"}, {"format": "csv"}])
    def test_says_when_to_come_back(
        self, owner: Client, key: str, settings: Any, unused_tcp_port: int, params: dict[str, str]
    ) -> None:
        settings.CLICKHOUSE_URL = f"clickhouse://default@127.0.0.1:{unused_tcp_port}/default"
        answer = get("/sensors/0xA/history/", key, **params)
        assert (answer.status_code, answer.json()["code"]) == (503, "history_away")
        assert answer["Retry-After"] == "5"
