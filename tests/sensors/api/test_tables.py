"""The registry as a file, over REST."""

from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.conf import settings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.http import StreamingHttpResponse
from django.test import AsyncClient
from django.test import Client as Browser

from config.access.keys import create_key
from sensors.models import Client, Sensor
from sensors.services.sheets import LARGEST_FILE, MOST_ROWS
from tests.sensors.api.callers import Caller, of_client, service
from tests.sensors.registry import link, make_client, make_sensor
from tests.sensors.services.test_sheets import xlsx

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]

TABLE = b"id,address\r\na,Here\r\nb,There\r\n"
XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"


@pytest.fixture
def desk() -> Caller:
    return service("registry:write")


class TestImport:
    def test_says_what_it_did(self, desk: Caller) -> None:
        make_sensor("a", address="Here")
        answer = desk.send_file("/sensors/import/", TABLE)
        assert (answer.status_code, answer.json()) == (
            200,
            {"dry_run": False, "created": 1, "changed": 0, "unchanged": 1},
        )

    def test_a_dry_run_says_the_same_and_changes_nothing(self, desk: Caller) -> None:
        answer = desk.send_file("/sensors/import/?dry_run=true", TABLE)
        assert answer.json() == {"dry_run": True, "created": 2, "changed": 0, "unchanged": 0}
        assert not Sensor.objects.exists()

    def test_takes_xlsx_and_forms(self, desk: Caller) -> None:
        assert desk.send_file("/sensors/import/", xlsx(["id", "address"], ["c", "x"]), XLSX).json()["created"] == 1
        key = create_key(name="desk", actor="test", scopes=["registry:write"])[1]
        form = {"file": SimpleUploadedFile("sensors.csv", TABLE)}
        answer = Browser(headers={"Authorization": f"Bearer {key}"}).post("/api/v1/sensors/import/", form)
        assert answer.json()["created"] == 2

    @pytest.mark.parametrize("query", ["", "?dry_run=1"])
    def test_names_every_bad_line(self, desk: Caller, query: str) -> None:
        answer = desk.send_file(f"/sensors/import/{query}", b"id,address\r\na,\r\nb,x\r\nc-d,x\r\n")
        told = answer.json()
        assert (answer.status_code, told["code"], list(told["data"]["fields"])) == (400, "invalid", ["file"])
        assert [(bad["line"], bad["field"]) for bad in told["data"]["lines"]] == [(2, "address"), (4, "id")]
        assert not Sensor.objects.exists()

    @pytest.mark.parametrize(
        ("content", "kind", "status"),
        [
            (b"", "text/csv", 400),
            (b"\xff\xfe", "text/csv", 400),
            (b"PK\x03\x04", XLSX, 400),
            (b"{}", "application/json", 415),
            (b"x" * (LARGEST_FILE + 1), "text/csv", 413),
            (b"--x--\r\n", "multipart/form-data; boundary=x", 400),
        ],
        ids=["empty", "not UTF-8", "no archive", "JSON", "10 MB + 1", "no file"],
    )
    def test_what_is_no_table_is_an_error(self, desk: Caller, content: bytes, kind: str, status: int) -> None:
        answer = desk.send_file("/sensors/import/", content, kind)
        assert (answer.status_code, set(answer.json())) == (status, {"code", "message", "data"})

    @pytest.mark.slow
    def test_a_refusal_names_its_limit(self, desk: Caller) -> None:
        too_large = desk.send_file("/sensors/import/", b"x" * (LARGEST_FILE + 1))
        assert "10485760 bytes" in too_large.json()["message"]
        too_many = desk.send_file("/sensors/import/", b"id\n" + b"a\n" * (MOST_ROWS + 1))
        assert "100000 rows" in too_many.json()["data"]["fields"]["file"][0]

    def test_a_repeat_with_the_same_idempotency_key_is_one_call(self, desk: Caller) -> None:
        first = desk.send_file("/sensors/import/", TABLE, **{"Idempotency-Key": "one"})
        again = desk.send_file("/sensors/import/", TABLE, **{"Idempotency-Key": "one"})
        assert (first.json()["created"], again.content) == (2, first.content)

    def test_needs_the_right_to_write(self) -> None:
        assert service("registry:read").send_file("/sensors/import/", TABLE).status_code == 403

    def test_the_outermost_layer_lets_ten_megabytes_through(self) -> None:
        for path in ("/api/v1/sensors/import/", "/admin/sensors/sensor/import/"):
            limit = next(size for start, size in settings.BODY_LIMITS if path.startswith(start))
            assert LARGEST_FILE < limit < LARGEST_FILE + 100_000


class TestExport:
    def fetch(self, key: str, path: str = "/sensors/export/") -> tuple[Any, bytes]:
        async def fetch() -> tuple[Any, bytes]:
            answer = await AsyncClient().get(f"/api/v1{path}", headers={"Authorization": f"Bearer {key}"})
            if not isinstance(answer, StreamingHttpResponse):
                return answer, answer.content
            assert answer.is_async, "a synchronous iterator would be gathered whole"
            return answer, b"".join([piece async for piece in answer])

        return async_to_sync(fetch)()

    @pytest.fixture
    def client_with_sensor(self) -> Client:
        make_sensor("a", address="=1+1")
        make_sensor("b")
        client = make_client()
        link("a", client)
        return client

    def test_streams_the_table_that_the_import_takes(self, client_with_sensor: Client, desk: Caller) -> None:
        answer, content = self.fetch(create_key(name="r", actor="test", scopes=["registry:read"])[1])
        assert answer.headers["Content-Type"] == "text/csv; charset=utf-8"
        assert answer.headers["Content-Security-Policy"] == "sandbox; default-src 'none'"
        assert content.decode().splitlines() == [
            "id,address,notes,active,heartbeat_timeout,clients",
            f"a,'=1+1,,true,3600,{client_with_sensor.pk}",
            "b,1 Gate Street,,true,3600,",
        ]
        assert desk.send_file("/sensors/import/", content).json()["unchanged"] == 2

    def test_keeps_to_the_filters_of_the_list(self, client_with_sensor: Client) -> None:
        key = create_key(name="r", actor="test", scopes=["registry:read"])[1]
        content = self.fetch(key, f"/sensors/export/?client={client_with_sensor.pk}")[1]
        assert [line[:1] for line in content.decode().splitlines()] == ["i", "a"]

    def test_is_not_for_keys_of_clients(self, client_with_sensor: Client) -> None:
        assert of_client(client_with_sensor)("GET", "/sensors/export/").status_code == 403
