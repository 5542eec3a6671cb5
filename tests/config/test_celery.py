from typing import Any

import pytest

from config.celery import CORRELATION_HEADER, app
from config.common.correlation import correlated, correlation_id


@pytest.fixture
def seen() -> list[str]:
    return []


@pytest.fixture
def task(seen: list[str]) -> Any:
    @app.task(name="test.correlated")
    def note() -> None:
        seen.append(correlation_id())

    yield note
    app.tasks.pop("test.correlated")


def call(task: Any, headers: dict[str, str]) -> None:
    """Call a task as a worker does: the headers of the message are attributes of the request."""
    task.push_request(**headers)
    try:
        task()
    finally:
        task.pop_request()


class TestCorrelation:
    def test_a_task_runs_under_the_id_it_was_sent_with(self, task: Any, seen: list[str]) -> None:
        call(task, {CORRELATION_HEADER: "caller-0001"})
        assert seen == ["caller-0001"]

    def test_a_task_without_an_id_gets_a_new_one(self, task: Any, seen: list[str]) -> None:
        call(task, {})
        call(task, {CORRELATION_HEADER: "not an id"})
        assert len(set(seen)) == 2
        assert {len(one) for one in seen} == {32}

    def test_the_callers_id_travels_with_the_message(self, task: Any) -> None:
        sent: dict[str, Any] = {}
        with app.connection_for_write("memory://") as connection, correlated("caller-0001"):
            task.apply_async(connection=connection)
            found = connection.SimpleQueue("postern.tasks").get(timeout=1)
            sent.update(found.headers)
        assert sent[CORRELATION_HEADER] == "caller-0001"


class TestSettings:
    def test_a_worker_that_dies_gives_its_task_back(self) -> None:
        assert (app.conf.task_acks_late, app.conf.task_reject_on_worker_lost) == (True, True)
        assert app.conf.worker_prefetch_multiplier == 1

    def test_no_task_may_run_for_ten_minutes(self) -> None:
        assert app.conf.task_soft_time_limit < app.conf.task_time_limit < 600

    def test_only_json_is_understood(self) -> None:
        assert list(app.conf.accept_content) == ["json"]
        assert app.conf.task_serializer == "json"

    def test_workers_know_the_tasks(self) -> None:
        app.loader.import_default_modules()
        assert {"run_work", "run_upkeep"} <= set(app.tasks)
