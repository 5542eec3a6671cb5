"""Lists of instances that hold as much as instances may: pages end by their bytes, and nothing is read in vain."""

from typing import Any

import msgspec
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from config.common.web.pagination import PAGE_BYTES
from processes.workflows.models import WorkItem
from processes.workflows.state_storage import LazyVariables
from tests.processes.workflows.process_files import chain, flow, process, user
from tests.processes.workflows.process_files import service as service_task
from tests.processes.workflows.scene import Scene
from tests.sensors.api.callers import Caller, service

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]

LARGE: dict[str, Any] = {"large": [["x" * 90] for _ in range(9_000)]}
"""Nearly as much as variables may take in all."""
LAP = process("lap", '<startEvent id="begin"/><userTask id="check"/>', flow("begin", "check"), flow("check", "check"))


@pytest.fixture
def caller() -> Caller:
    return service("workflows:read", "workflows:write")


def follow(caller: Caller, address: str) -> list[list[Any]]:
    """Read a list to its end; return its pages."""
    pages = []
    while address:
        answer = caller("GET", address.partition("/api/v1")[2] or address)
        assert len(answer.content) < PAGE_BYTES + 2_000_000
        pages.append(answer.json()["results"])
        address = answer.json()["next"]
    return pages


@pytest.fixture
def _not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a large variable be read by nobody: reading them is what took seconds."""

    def read(self: LazyVariables, name: str) -> Any:
        value = dict.__getitem__(self, name)
        assert type(value) is not msgspec.Raw, f"{name} is read"
        return value

    monkeypatch.setattr(LazyVariables, "__getitem__", read)


class TestVersions:
    @pytest.mark.usefixtures("_not_read")
    def test_a_page_ends_by_its_bytes_and_next_leads_to_the_end(self, caller: Caller, scene: Scene) -> None:
        head = scene.begin(LAP, **LARGE)
        for number in range(6):
            scene.complete(head, n=number)
        pages = follow(caller, f"/workflows/instances/{head.id}/versions/?limit=1000")
        assert [version["number"] for page in pages for version in page] == [7, 6, 5, 4, 3, 2, 1]
        assert [len(page) for page in pages] == [4, 3]
        assert all(version["variables"]["large"] == LARGE["large"] for page in pages for version in page)

    def test_small_versions_cost_no_more_statements_than_few(
        self, caller: Caller, scene: Scene, django_assert_max_num_queries: Any
    ) -> None:
        head = scene.begin(LAP, text="x" * 3000)
        for number in range(10):
            scene.complete(head, n=number)
        with django_assert_max_num_queries(8):
            assert len(follow(caller, f"/workflows/instances/{head.id}/versions/")[0]) == 11


class TestInstances:
    @pytest.mark.usefixtures("_not_read")
    def test_a_page_ends_by_its_bytes_and_next_leads_to_the_end(self, caller: Caller, scene: Scene) -> None:
        key = scene.publish(LAP).key
        ids = [str(scene.start(key, **LARGE).id) for _ in range(6)]
        pages = follow(caller, "/workflows/instances/?limit=1000")
        assert [[each["id"] for each in page] for page in pages] == [ids[:1:-1], ids[1::-1]]


class TestCommands:
    @pytest.mark.usefixtures("_not_read")
    def test_one_that_asks_for_no_large_variable_reads_none(self, caller: Caller, scene: Scene) -> None:
        head = scene.begin(LAP, **LARGE)
        body = {"command": "complete_task", "task": scene.task(head), "variables": {"n": 1}}
        answer = caller("POST", f"/workflows/instances/{head.id}/commands/", body)
        assert answer.json()["variables"] == {**LARGE, "n": 1}

    def test_a_large_variable_is_there_for_whoever_asks(self, scene: Scene) -> None:
        asks = "<conditionExpression>len(large) == 9000 and large[0] == large[8999]</conditionExpression>"
        gates = '<exclusiveGateway id="gate" default="gate_no"/>'
        yes = f'<sequenceFlow id="gate_yes" sourceRef="gate" targetRef="yes">{asks}</sequenceFlow>'
        steps = ('<startEvent id="begin"/>', *(user(name)[1] for name in ("first", "yes", "no")), gates, yes)
        head = scene.begin(
            process("asks", *steps, flow("begin", "first"), flow("first", "gate"), flow("gate", "no")), **LARGE
        )
        scene.complete(head)
        assert scene.waits_at(head) == ["yes"]


class TestFetch:
    def fetch(self, caller: Caller) -> list[Any]:
        body = {"topic": "t", "worker": "w", "max": 100}
        found: list[Any] = caller("POST", "/workflows/external-tasks/fetch/", body).json()["results"]
        return found

    @pytest.mark.parametrize("inputs", [{}, {"large": "large"}])
    def test_as_many_as_fit_are_locked_and_the_others_wait_in_their_order(
        self, caller: Caller, scene: Scene, inputs: dict[str, str]
    ) -> None:
        key = scene.publish(chain("work", service_task("job", "external", "t", **inputs))).key
        ids = [str(scene.start(key, large=["x" * 400_000]).id) for _ in range(14)]
        first = self.fetch(caller)
        assert [task["instance"] for task in first] == ids[:10]
        assert WorkItem.objects.filter(worker="w").count() == 10
        assert [task["instance"] for task in self.fetch(caller)] == ids[10:]


class TestTasks:
    def test_the_list_does_not_read_what_workers_are_given(self, caller: Caller, scene: Scene) -> None:
        scene.begin(chain("work", service_task("job", "external", "t", large="large")), large="x" * 400_000)
        with CaptureQueriesContext(connection) as statements:
            assert len(caller("GET", "/workflows/tasks/").json()["results"]) == 1
        assert not any('"inputs"' in statement["sql"] for statement in statements)
