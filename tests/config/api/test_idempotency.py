import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from threading import get_ident
from typing import Any

import psycopg
import pytest
from django.contrib.auth.models import Group
from django.db import OperationalError, connection
from django.db.backends.base.base import BaseDatabaseWrapper
from django.test import Client
from django.utils import timezone

from config.access.keys import create_key
from config.api.idempotency import LONGEST_KEY
from config.records.models import AccessKey, IdempotencyRecord, SignInAttempt
from config.records.retention import expire_answers

pytestmark = [pytest.mark.django_db, pytest.mark.embedded, pytest.mark.urls("tests.config.api.sample.urls")]

GROUPS = "/api/v1/groups/"


class Caller:
    def __init__(self) -> None:
        self.key, text = create_key(name="test", scopes=["registry:write", "registry:read"], actor="test")
        self.headers = {"Authorization": f"Bearer {text}"}

    def post(self, once: str | None, body: Any = None, path: str = GROUPS) -> Any:
        headers = self.headers | ({} if once is None else {"Idempotency-Key": once})
        text = body if isinstance(body, bytes) else json.dumps(body or {"name": "one"}).encode()
        return Client().generic("POST", path, text, content_type="application/json", headers=headers)


@pytest.fixture
def caller() -> Caller:
    return Caller()


def made(name: str = "one") -> int:
    return Group.objects.filter(name=name).count()


@contextmanager
def cut_at_the_commit(*, is_committed: bool) -> Iterator[None]:
    """Let this thread's next commit end without an answer of the database, which has got it or not."""
    caller = get_ident()
    if connection.vendor == "sqlite":
        cut: tuple[Any, str, Any] = (BaseDatabaseWrapper, "_commit", getattr(BaseDatabaseWrapper, "_commit"))  # noqa: B009
        error: Exception = sqlite3.OperationalError("disk I/O error")
        error.sqlite_errorcode = sqlite3.SQLITE_IOERR_FSYNC  # type: ignore[attr-defined]
    else:
        cut = (psycopg.Connection, "commit", psycopg.Connection.commit)
        error = psycopg.OperationalError("server closed the connection unexpectedly")

    def commit(connection: Any) -> None:
        # The pool commits too, on a thread of its own, what it sets up in a new connection.
        if get_ident() != caller:
            cut[2](connection)
            return
        patch.setattr(*cut)
        (cut[2] if is_committed else type(connection).rollback)(connection)
        if isinstance(connection, BaseDatabaseWrapper):
            raise OperationalError(*error.args) from error
        raise error

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(*cut[:2], commit)
        yield


class TestRepeat:
    def test_gets_the_first_answer_and_has_no_effect(self, caller: Caller) -> None:
        first, second = caller.post("order-1"), caller.post("order-1")
        assert (first.status_code, second.status_code, made()) == (201, 201, 1)
        assert first.content == second.content
        assert first.headers["Content-Type"] == second.headers["Content-Type"] == "application/json"

    @pytest.mark.django_db(transaction=True)
    @pytest.mark.parametrize("is_committed", [True, False])
    def test_after_an_unknown_outcome_there_is_one_effect(self, caller: Caller, is_committed: bool) -> None:
        with cut_at_the_commit(is_committed=is_committed):
            lost = caller.post("order-1")
        assert (lost.status_code, lost.json()["code"], lost.headers["Retry-After"]) == (503, "outcome_unknown", "5")
        assert "unknown whether" in lost.json()["message"]
        assert made() == int(is_committed)
        assert (caller.post("order-1").status_code, made()) == (201, 1)

    def test_may_write_the_same_values_differently(self, caller: Caller) -> None:
        caller.post("order-1", b'{"name": "one", "order": [1]}')
        assert caller.post("order-1", b'{"order":[1],"name":"one"}').status_code == 201

    def test_with_another_body_is_refused(self, caller: Caller) -> None:
        caller.post("order-1")
        answer = caller.post("order-1", {"name": "two"})
        assert (answer.status_code, answer.json()["code"], made("two")) == (409, "idempotency_conflict", 0)

    def test_to_another_address_is_refused(self, caller: Caller) -> None:
        caller.post("order-1")
        assert caller.post("order-1", path=f"{GROUPS}?format=json").status_code == 409

    def test_of_another_caller_is_a_call_of_its_own(self, caller: Caller) -> None:
        caller.post("order-1", {"name": "one"})
        assert Caller().post("order-1", {"name": "two"}).status_code == 201

    def test_without_the_header_is_another_call(self, caller: Caller) -> None:
        assert [caller.post(None, {"name": name}).status_code for name in ("one", "two")] == [201, 201]
        assert not IdempotencyRecord.objects.exists()

    def test_after_a_day_is_another_call(self, caller: Caller) -> None:
        caller.post("order-1", {"name": "one"})
        IdempotencyRecord.objects.update(created_at=timezone.now() - timedelta(hours=24, seconds=1))
        assert caller.post("order-1", {"name": "two"}).status_code == 201
        assert caller.post("order-1", {"name": "two"}).json()["name"] == "two"

    def test_within_the_day_it_is_the_same_call(self, caller: Caller) -> None:
        caller.post("order-1", {"name": "one"})
        IdempotencyRecord.objects.update(created_at=timezone.now() - timedelta(hours=23, minutes=59))
        assert caller.post("order-1", {"name": "two"}).status_code == 409


class TestError:
    @pytest.mark.parametrize(("body", "status"), [({"name": "refused"}, 422), ({"name": ""}, 400)])
    def test_leaves_nothing_and_may_be_repeated(self, caller: Caller, body: dict[str, str], status: int) -> None:
        assert caller.post("order-1", body).status_code == status
        assert (made(body["name"]), IdempotencyRecord.objects.count()) == (0, 0)
        assert caller.post("order-1", {"name": "one"}).status_code == 201

    def test_a_clash_in_the_database_leaves_nothing(self, caller: Caller) -> None:
        Group.objects.create(name="one")
        assert caller.post("order-1").status_code == 409
        assert not IdempotencyRecord.objects.exists()

    @pytest.mark.parametrize("once", ["", "x" * 65, "a b", "ключ", "a/b"])
    def test_a_wrong_key_is_named(self, caller: Caller, once: str) -> None:
        answer = caller.post(once)
        assert (answer.status_code, list(answer.json()["data"]["fields"])) == (400, ["Idempotency-Key"])
        assert made() == 0

    def test_the_longest_is_taken(self, caller: Caller) -> None:
        assert caller.post("x" * LONGEST_KEY).status_code == 201


class TestStoredAnswer:
    def test_cannot_be_read_in_the_database(self, caller: Caller) -> None:
        answer = caller.post("order-1")
        record = IdempotencyRecord.objects.get()
        assert record.status == 201
        assert b"name" in answer.content
        assert b"name" not in bytes(record.answer or b"")

    def test_that_can_no_longer_be_deciphered_says_why(self, caller: Caller, settings: Any) -> None:
        caller.post("order-1")
        settings.FIELD_KEYS = ("MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=",)
        answer = caller.post("order-1")
        assert (answer.status_code, answer.json()["code"], made()) == (409, "undecipherable", 1)


@pytest.mark.django_db(transaction=True)
class TestAtOnce:
    def test_eight_calls_have_one_effect_and_one_answer(
        self, caller: Caller, in_threads: Callable[..., list[Any]]
    ) -> None:
        answers = in_threads(lambda number: caller.post("order-1"), 8)
        assert {(answer.status_code, answer.content) for answer in answers} == {(201, answers[0].content)}
        assert made() == 1

    def test_eight_calls_after_a_day_have_one_effect(
        self, caller: Caller, in_threads: Callable[..., list[Any]]
    ) -> None:
        caller.post("order-1", {"name": "old"})
        IdempotencyRecord.objects.update(created_at=timezone.now() - timedelta(days=2))
        answers = in_threads(lambda number: caller.post("order-1"), 8)
        assert {answer.status_code for answer in answers} == {201}
        assert made() == 1


class TestForgetOldAnswers:
    def test_deletes_what_is_over_in_batches(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("config.records.retention.BATCH", 3)
        now = timezone.now()
        for number in range(10):
            old = {"owner": "o", "key": f"old-{number}", "digest": b"", "created_at": now - timedelta(hours=25)}
            IdempotencyRecord.objects.create(**old)
        IdempotencyRecord.objects.create(owner="o", key="new", digest=b"")
        SignInAttempt.objects.create(name="ann", address="::1", window_ends_at=now - timedelta(seconds=1))
        SignInAttempt.objects.create(name="bob", address="::1", window_ends_at=now + timedelta(minutes=1))
        assert expire_answers() == 11
        assert [record.key for record in IdempotencyRecord.objects.all()] == ["new"]
        assert [attempt.name for attempt in SignInAttempt.objects.all()] == ["bob"]

    def test_has_nothing_to_do_twice(self, caller: Caller) -> None:
        caller.post("order-1")
        assert (expire_answers(), IdempotencyRecord.objects.count()) == (0, 1)
        assert AccessKey.objects.count() == 1
