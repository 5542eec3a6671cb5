"""What the frame answers for every view, as one table, on PostgreSQL and on SQLite."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Group, Permission, User
from django.test import Client
from django.utils import timezone

from config.access.keys import create_key, end_key
from config.access.scopes import Scope, permission
from config.records.models import AccessKey

pytestmark = [pytest.mark.django_db, pytest.mark.embedded, pytest.mark.urls("tests.config.api.sample.urls")]

GROUPS = "/api/v1/groups/"
JSON = "application/json"


def service(*scopes: Scope) -> Callable[[], dict[str, str]]:
    def headers() -> dict[str, str]:
        return bearer(create_key(name="test", scopes=scopes, actor="test")[1])

    return headers


def bearer(text: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {text}"}


def nobody() -> dict[str, str]:
    return {}


def garbled() -> dict[str, str]:
    return bearer("ps_ÿ not a key")


def guessed() -> dict[str, str]:
    key, _text = create_key(name="test", scopes=[Scope.REGISTRY_READ], actor="test")
    return bearer(f"{key.prefix}_{'A' * 43}")


def expired() -> dict[str, str]:
    key, text = create_key(name="test", scopes=[Scope.REGISTRY_READ], actor="test")
    AccessKey.objects.filter(pk=key.pk).update(expires_at=timezone.now() - timedelta(seconds=1))
    return bearer(text)


def ended() -> dict[str, str]:
    key, text = create_key(name="test", scopes=[Scope.REGISTRY_READ], actor="test")
    end_key(key=key, actor="test")
    return bearer(text)


def device(subject: str) -> Callable[[], dict[str, str]]:
    def headers() -> dict[str, str]:
        key, text = create_key(name="test", kind="device", subject="works", actor="test")
        AccessKey.objects.filter(pk=key.pk).update(subject=subject)
        return bearer(text)

    return headers


reader, writer = service(Scope.REGISTRY_READ), service(Scope.REGISTRY_WRITE)
operator = service(Scope.OPERATIONS)

Row = tuple[str, Callable[[], dict[str, str]], str, str, bytes | None, int, str]
TABLE: list[Row] = [
    ("no key", nobody, "GET", GROUPS, None, 401, "unauthorized"),
    ("garbled key", garbled, "GET", GROUPS, None, 401, "unauthorized"),
    ("wrong key", guessed, "GET", GROUPS, None, 401, "unauthorized"),
    ("expired key", expired, "GET", GROUPS, None, 401, "unauthorized"),
    ("ended key", ended, "GET", GROUPS, None, 401, "unauthorized"),
    ("key of another kind", device("works"), "GET", GROUPS, None, 403, "forbidden"),
    ("service key where devices call", reader, "GET", "/api/v1/devices/", None, 403, "forbidden"),
    ("key of nothing", device("gone"), "GET", "/api/v1/devices/", None, 401, "unauthorized"),
    ("key of something inactive", device("stopped"), "GET", "/api/v1/devices/", None, 403, "forbidden"),
    ("wrong scope", writer, "GET", GROUPS, None, 403, "forbidden"),
    ("a view that declares nothing", reader, "GET", "/api/v1/closed/", None, 403, "forbidden"),
    ("unknown id", reader, "GET", f"{GROUPS}999999/", None, 404, "not_found"),
    ("unknown path", nobody, "GET", "/api/v1/xyz/", None, 404, "not_found"),
    ("unknown path without slash", nobody, "POST", "/api/v1/xyz", b"{}", 404, "not_found"),
    ("known path without slash", writer, "POST", "/api/v1/groups", b"{}", 404, "not_found"),
    ("unknown version", nobody, "GET", "/api/v9/", None, 404, "not_found"),
    ("the bare root", nobody, "GET", "/api", None, 404, "not_found"),
    ("wrong method", reader, "DELETE", GROUPS, None, 405, "method_not_allowed"),
    ("options", reader, "OPTIONS", GROUPS, None, 405, "method_not_allowed"),
    ("form not accepted", reader, "GET", f"{GROUPS}?format=csv", None, 404, "not_found"),
    ("broken JSON", writer, "POST", GROUPS, b'{"name": }', 400, "bad_json"),
    ("no UTF-8", writer, "POST", GROUPS, b'{"name": "\xff"}', 400, "bad_json"),
    ("NUL", writer, "POST", GROUPS, b'{"name": "\\u0000"}', 400, "bad_json"),
    ("lone surrogate", writer, "POST", GROUPS, b'{"name": "\\ud800"}', 400, "bad_json"),
    ("nested too deep", writer, "POST", GROUPS, b"[" * 500 + b"]" * 500, 400, "bad_json"),
    ("no object", writer, "POST", GROUPS, b"[1]", 400, "invalid"),
    ("invalid field", writer, "POST", GROUPS, b'{"name": ""}', 400, "invalid"),
    ("wrong limit", reader, "GET", f"{GROUPS}?limit=1001", None, 400, "invalid"),
    ("wrong cursor", reader, "GET", f"{GROUPS}?cursor=abc", None, 400, "invalid"),
    ("a bug", operator, "GET", "/api/v1/failing/bug/", None, 500, "internal_error"),
    ("not there", operator, "GET", "/api/v1/failing/missing/", None, 404, "not_found"),
]
ENGINES: list[Row] = [
    ("database away", operator, "GET", "/api/v1/failing/database_away/", None, 503, "database_away"),
    ("disk full", operator, "GET", "/api/v1/failing/disk_full/", None, 507, "disk_full"),
    ("value out of range", operator, "GET", "/api/v1/failing/out_of_range/", None, 400, "invalid"),
    ("twice", operator, "GET", "/api/v1/failing/twice/", None, 409, "conflict"),
]


@pytest.fixture(autouse=True)
def _devices(settings: Any) -> None:
    settings.KEY_SUBJECTS = {"device": "tests.config.api.sample.views.find_device"}


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row[0])
def test_the_table(client: Client, row: Row) -> None:
    check(client, row)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("row", ENGINES, ids=lambda row: row[0])
def test_the_table_of_failing_engines(client: Client, row: Row) -> None:
    check(client, row)


def check(client: Client, row: Row) -> None:
    _name, who, method, path, body, status, code = row
    answer = client.generic(method, path, body or b"", content_type=JSON, headers=who())
    assert (answer.status_code, answer.headers["Content-Type"]) == (status, JSON)
    assert (answer.json()["code"], sorted(answer.json())) == (code, ["code", "data", "message"])
    assert "detail" not in answer.json()["message"]
    assert Group.objects.exclude(name__in=("viewer", "operator", "registrar", "administrator")).count() == 0


class TestHeaders:
    def test_a_refused_key_names_the_scheme(self, client: Client) -> None:
        assert client.get(GROUPS).headers["WWW-Authenticate"] == "Bearer"

    def test_a_wrong_method_names_the_right_ones(self, client: Client) -> None:
        answer = client.delete(GROUPS, headers=reader())
        assert answer.headers["Allow"] == "GET, POST, HEAD"

    @pytest.mark.django_db(transaction=True)
    def test_an_absent_database_says_when_to_come_back(self, client: Client) -> None:
        answer = client.get("/api/v1/failing/database_away/", headers=operator())
        assert answer.headers["Retry-After"] == "5"

    def test_answers_to_a_key_are_kept_by_nobody(self, client: Client) -> None:
        assert client.get("/api/v1/groups/")["Cache-Control"] == "no-store"
        assert client.get("/metrics", headers={"authorization": "Bearer x"})["Cache-Control"] == "no-store"
        assert "Cache-Control" not in client.get("/api/v1/schema/").headers

    def test_answers_of_the_api_may_load_nothing(self, client: Client) -> None:
        assert client.get(GROUPS).headers["Content-Security-Policy"].startswith("default-src 'none';")


class TestInvalidInput:
    def test_names_each_field_and_its_rule(self, client: Client) -> None:
        body = {"name": "x" * 21, "at": "2026-01-01T00:00:00", "order": [1, "x"]}
        answer = client.post(GROUPS, body, content_type=JSON, headers=writer())
        fields = answer.json()["data"]["fields"]
        assert sorted(fields) == ["at", "name", "order.1"]
        assert fields["at"] == ["Must be a time such as 2026-01-31T23:59:59.000Z, with its offset."]

    def test_names_the_body_where_no_field_is_to_blame(self, client: Client) -> None:
        answer = client.post(GROUPS, [1], content_type=JSON, headers=writer())
        assert list(answer.json()["data"]["fields"]) == ["body"]

    def test_broken_json_names_the_place(self, client: Client) -> None:
        answer = client.post(GROUPS, b'{\n "name" 1}', content_type=JSON, headers=writer())
        assert answer.json()["data"] == {"line": 2, "column": 9}


class TestMediaType:
    @pytest.mark.parametrize(
        "sent", ["text/plain", "application/x-www-form-urlencoded", "application/json; charset=latin-1", "x" * 300, ""]
    )
    def test_only_json_in_utf8_is_taken(self, client: Client, sent: str) -> None:
        answer = client.generic("POST", GROUPS, b'{"name": "one"}', content_type=sent, headers=writer())
        assert (answer.status_code, answer.json()["code"]) == (415, "unsupported_media_type")

    def test_only_json_is_sent(self, client: Client) -> None:
        answer = client.get(GROUPS, headers={**reader(), "Accept": "text/html"})
        assert (answer.status_code, answer.json()["code"]) == (406, "not_acceptable")


class TestRate:
    def test_the_call_past_the_rate_is_refused(self, client: Client, settings: Any) -> None:
        settings.KEY_RATE = 2
        headers = reader()
        answers = [client.get(GROUPS, headers=headers) for _ in range(5)]  # five pass the rate of two minutes
        refused = next(answer for answer in answers if answer.status_code == 429)
        assert [answer.status_code for answer in answers][:2] == [200, 200]
        assert 1 <= int(refused.headers["Retry-After"]) <= 60
        assert refused.json()["code"] == "throttled"

    def test_limits_are_on_by_default(self, settings: Any) -> None:
        assert (settings.KEY_RATE, settings.ENTERPRISE_RATE, settings.FAILED_KEY_RATE) == (60_000, 300_000, 600)

    def test_each_key_has_its_own(self, client: Client, settings: Any) -> None:
        settings.KEY_RATE = 1
        assert [client.get(GROUPS, headers=reader()).status_code for _ in range(3)] == [200, 200, 200]


class TestStaff:
    @pytest.fixture
    def staff(self) -> User:
        return User.objects.create_user("ann", password="secret-enough", is_staff=True)

    @staticmethod
    def allow(user: User, *scopes: Scope) -> None:
        names = [permission(scope) for scope in scopes]
        user.user_permissions.set(Permission.objects.filter(codename__in=names))

    def test_may_do_what_their_permissions_say(self, client: Client, staff: User) -> None:
        self.allow(staff, Scope.REGISTRY_READ)
        client.force_login(staff)
        assert client.get(GROUPS).status_code == 200

    def test_may_do_nothing_else(self, client: Client, staff: User) -> None:
        self.allow(staff, Scope.PARTIES_READ)
        client.force_login(staff)
        assert client.get(GROUPS).status_code == 403
        assert client.get("/api/v1/closed/").status_code == 403
        assert client.get("/api/v1/devices/").status_code == 403

    @pytest.mark.parametrize("change", [{"is_staff": False}, {"is_active": False}])
    def test_other_accounts_are_nobody(self, client: Client, staff: User, change: dict[str, bool]) -> None:
        self.allow(staff, Scope.REGISTRY_READ)
        client.force_login(staff)
        User.objects.filter(pk=staff.pk).update(**change)
        assert client.get(GROUPS).status_code == 401

    def test_a_write_without_the_csrf_token_is_refused(self, staff: User) -> None:
        self.allow(staff, Scope.REGISTRY_WRITE)
        client = Client(enforce_csrf_checks=True)
        client.force_login(staff)
        answer = client.post(GROUPS, {"name": "one"}, content_type=JSON)
        assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")
        assert not Group.objects.filter(name="one").exists()

    def test_a_write_with_it_names_the_person(self, staff: User) -> None:
        self.allow(staff, Scope.REGISTRY_WRITE)
        client = Client(enforce_csrf_checks=True)
        client.force_login(staff)
        client.cookies["csrftoken"] = "a" * 32
        answer = client.post(GROUPS, {"name": "one"}, content_type=JSON, headers={"X-CSRFToken": "a" * 32})
        assert (answer.status_code, answer.json()["actor"]) == (201, "staff:ann")

    def test_a_view_that_parses_its_own_body_takes_it_from_them_too(self, staff: User) -> None:
        self.allow(staff, Scope.SIGNALS_WRITE)
        client = Client(enforce_csrf_checks=True)
        client.force_login(staff)
        client.cookies["csrftoken"] = "a" * 32
        body = {"sensor_id": "0xA", "data": 1}
        answer = client.post("/api/v1/signals/", body, content_type=JSON, headers={"X-CSRFToken": "a" * 32})
        assert (answer.status_code, answer.json()["rejected"][0]["code"]) == (202, "unknown_sensor")
        assert client.post("/api/v1/signals/", body, content_type=JSON).status_code == 403


class TestKeys:
    def test_a_call_costs_one_query_for_its_key(self, client: Client, django_assert_num_queries: Any) -> None:
        headers = reader()
        with django_assert_num_queries(2):
            assert client.get(GROUPS, headers=headers).status_code == 200

    def test_a_device_calls_what_lists_devices(self, client: Client) -> None:
        assert client.get("/api/v1/devices/", headers=device("works")()).json() == {"subject": "works"}

    def test_a_head_needs_what_a_get_needs(self, client: Client) -> None:
        assert client.head(GROUPS, headers=reader()).status_code == 200
        assert client.head(GROUPS, headers=writer()).status_code == 403


class TestPages:
    """What fails outside of the REST views."""

    @pytest.mark.django_db(transaction=True)
    @pytest.mark.parametrize(("how", "status"), [("database_away", 503), ("disk_full", 507), ("missing", 404)])
    def test_a_failing_page_says_what_to_do(self, client: Client, how: str, status: int) -> None:
        answer = client.get(f"/failing/{how}/")
        assert (answer.status_code, answer.headers["Content-Type"]) == (status, "text/html; charset=utf-8")
        assert b"Start page" in answer.content

    def test_a_bug_keeps_its_detail(self) -> None:
        answer = Client(raise_request_exception=False).get("/failing/bug/")
        assert answer.status_code == 500
        assert b"secret detail" not in answer.content

    def test_speaks_russian(self, client: Client) -> None:
        answer = client.get("/nothing/", headers={"Accept-Language": "ru"})
        assert (answer.status_code, b'<html lang="ru">' in answer.content) == (404, True)

    def test_a_foreign_host_is_refused(self, client: Client) -> None:
        answer = client.get("/api/v1/xyz/", headers={"Host": "evil.example"})
        assert (answer.status_code, answer.json()["code"]) == (400, "bad_request")

    def test_a_session_that_no_column_can_hold_is_no_failure(self, client: Client) -> None:
        client.cookies["sessionid"] = "\0" * 32
        assert client.get(GROUPS).status_code in (400, 401)
