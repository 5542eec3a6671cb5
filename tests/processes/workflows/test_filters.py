"""Each filter finds what fits, and is answered by an index."""

import re
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.db import connection
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import override

from processes.workflows.filters import InstanceFilter, filter_instances
from processes.workflows.heads import Head
from processes.workflows.models import SearchTerm, WorkflowInstance
from processes.workflows.search_terms import LONGEST_VALUE, MOST_VARIABLES, variable_term
from processes.workflows.services.returns import return_instance
from tests.processes.workflows.case_files import case, human, stage
from tests.processes.workflows.process_files import chain, script, timer, user
from tests.processes.workflows.scene import ACTOR, Scene

pytestmark = [pytest.mark.django_db, pytest.mark.embedded]

ORDER = chain("order", user("check"), timer("wait", "PT1H"))


def found(**wanted: Any) -> list[str]:
    return [instance.record for instance in filter_instances(InstanceFilter(**wanted))]


class TestFilter:
    def test_by_status_definition_and_revision(self, scene: Scene) -> None:
        scene.begin(ORDER, record="A")
        scene.begin(chain("other", user("x")), record="B")
        scene.begin(chain("order", user("check")), record="C")
        scene.command(scene.start("order", record="D"), "suspend")
        assert found(definition="order") == ["D", "C", "A"]
        assert found(definition="order", revision=1) == ["A"]
        assert found(definition="order", revision=2, status="suspended") == ["D"]
        assert found(definition="order", revision=3) == found(definition="order", revision=2**40) == []

    def test_by_the_element_where_it_stands(self, scene: Scene) -> None:
        scene.begin(ORDER, record="A")
        moved = scene.complete(scene.start("order", record="B"))
        assert found(element="check") == ["A"]
        assert found(element="wait") == ["B"]
        scene.command(moved, "terminate")
        assert found(element="wait") == []
        return_instance(moved.id, version=2, reason="again", actor=ACTOR, at=timezone.now())
        assert found(element="wait") == ["B"]
        return_instance(moved.id, version=1, reason="again", actor=ACTOR, at=timezone.now())
        assert (found(element="wait"), found(element="check")) == ([], ["B", "A"])

    def test_by_the_active_item_of_a_case(self, scene: Scene) -> None:
        scene.begin(case(human("A"), stage("S", human("B"), auto=True), key="case").encode(), record="R")
        assert found(element="A") == ["R"]

    def test_after_a_migration_by_the_element_of_the_other_revision(self, scene: Scene) -> None:
        head = scene.begin(chain("order", user("check")), record="A")
        scene.publish(chain("order", user("look")))
        scene.command(head, "migrate", revision=2, elements={"check": "look"})
        assert (found(element="check"), found(element="look")) == ([], ["A"])

    def test_by_the_text_of_an_open_incident(self, scene: Scene) -> None:
        scene.publish(chain("sums", user("check"), script("divide", "share", "10 / parts")))
        failed = scene.complete(scene.start("sums", record="A", parts=0))
        scene.complete(scene.start("sums", record="B", parts=2))
        assert found(incident="DIVI") == ["A"]
        assert found(incident="nonsense") == []
        scene.command(failed, "terminate")
        assert found(incident="divi") == []

    def test_by_the_text_of_an_incident_in_the_language_of_its_reader(self, scene: Scene) -> None:
        scene.publish(chain("sums", user("check"), script("divide", "share", "10 / parts")))
        scene.complete(scene.start("sums", record="A", parts=0))
        with override("ru"):
            assert (found(incident="Деление на ноль"), found(incident="умножение")) == (["A"], [])

    @pytest.mark.parametrize(
        ("value", "typed"),
        [("Bern", "Bern"), (5, "5"), (5.0, "5"), (2.5, "2.5"), (True, "true"), ("a=b", "a=b"), ("", ""), (-3, "-3")],
    )
    def test_by_the_value_of_a_variable(self, scene: Scene, value: Any, typed: str) -> None:
        head = scene.begin(ORDER, record="A", x=value)
        scene.start("order", record="B", x="another")
        assert found(variable=(f"x={typed}",)) == ["A"]
        scene.command(head, "set_variables", variables={"x": "new"})
        assert (found(variable=(f"x={typed}",)), found(variable=("x=new",))) == ([], ["A"])

    def test_by_several_variables_at_once(self, scene: Scene) -> None:
        scene.begin(ORDER, record="A", x=1, y=1)
        scene.start("order", record="B", x=1, y=2)
        assert found(variable=("x=1", "y=2"), definition="order", element="check") == ["B"]

    def test_large_values_and_odd_characters_are_no_terms(self, scene: Scene) -> None:
        long = "x" * (LONGEST_VALUE + 1)
        scene.begin(ORDER, record="A", long=long, many=[1], map={"a": 1}, none=None, big="y" * 5000)
        assert set(SearchTerm.objects.values_list("term", flat=True)) == {"element:check"}
        assert found(variable=(f"long={long}",)) == []
        assert variable_term("odd", "a\x00b") is variable_term("odd", "a\ud800") is None  # PostgreSQL stores neither
        assert found(variable=("odd=a\x00b",)) == found(element="a\x00b") == []

    def test_so_many_variables_and_no_more(self, scene: Scene) -> None:
        variables: dict[str, Any] = {f"v{number}": number for number in range(MOST_VARIABLES + 5)}
        head = scene.begin(ORDER, record="A", **variables)
        assert SearchTerm.objects.count() == MOST_VARIABLES + 1
        assert found(variable=("v99=99",)) == ["A"]
        assert found(variable=("v100=100",)) == []
        scene.command(head, "set_variables", variables={"v0": [1]})
        assert found(variable=("v100=100",)) == ["A"]

    def test_by_age(self, scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
        now = timezone.now()
        scene.publish(ORDER)
        for record, age in (("old", timedelta(days=9)), ("young", timedelta(hours=3)), ("new", timedelta(0))):
            start_at(scene, monkeypatch, record, now - age)
        assert found(started_before=now - timedelta(days=1)) == ["old"]
        assert found(started_after=now - timedelta(days=1)) == ["new", "young"]
        hours = timedelta(hours=2), timedelta(hours=4)
        assert found(started_before=now - hours[0], started_after=now - hours[1]) == ["young"]

    def test_terms_end_with_their_instance(self, scene: Scene) -> None:
        for command in ("terminate", "complete"):
            head = scene.begin(chain("order", user("check")), x=1)
            assert SearchTerm.objects.count() == 2
            scene.complete(head) if command == "complete" else scene.command(head, command)
            assert not SearchTerm.objects.exists()


def start_at(scene: Scene, monkeypatch: pytest.MonkeyPatch, record: str, at: Any) -> None:
    """Start an instance that has begun then, and has an id of that time."""
    stamp = UUID(int=int(at.timestamp() * 1000) << 80 | 0x7 << 76 | 0b10 << 62)
    with monkeypatch.context() as patch:
        patch.setattr("processes.workflows.services.start.new_instance_id", lambda: stamp)
        scene.start("order", record=record)
    WorkflowInstance.objects.filter(record=record).update(started_at=at)


@pytest.mark.skipif(connection.vendor != "postgresql", reason="the plans are PostgreSQL's")
class TestPlans:
    @pytest.mark.parametrize(
        ("wanted", "index"),
        [
            # Or `instance_definition_status`: of a few rows both cost the same.
            ({"definition": "order", "status": "active"}, "instance_definition"),
            ({"element": "check"}, "workflows_search_term_pkey"),
            ({"variable": ("x=1",)}, "workflows_search_term_pkey"),
            ({"started_before": timezone.now() - timedelta(days=3)}, "workflows_instance_pkey"),
        ],
    )
    def test_an_index_answers(self, scene: Scene, wanted: dict[str, Any], index: str) -> None:
        scene.begin(ORDER, x=1)
        assert_uses(filter_instances(InstanceFilter(**wanted))[:100], index)

    def test_an_index_answers_for_one_revision_among_many_instances_of_another(self, scene: Scene) -> None:
        scene.begin(ORDER)
        # Of a few rows every index costs the same: which one is taken would depend on what other tests have left.
        add_instances(scene.begin(chain("order", user("check"))), 2000, ended=True)
        assert_uses(filter_instances(InstanceFilter(definition="order", revision=1))[:100], "instance_revision")

    def test_an_index_has_the_parts_of_the_texts_of_incidents(self, scene: Scene) -> None:
        head = scene.begin(ORDER)
        with connection.cursor() as cursor:
            cursor.execute(
                """
                INSERT INTO workflows_incident (instance_id, about, command, element, reason, status, times, opened_at,
                    note, actor, correlation_id)
                SELECT %s, 'task:' || n, '{}', '', 'Worker ' || n || ' is away.', 'open', 1, now(), '', '', ''
                FROM generate_series(1, 3000) AS n
                """,
                [head.id],
            )
            # What is still to be sorted into the index would be read whole.
            cursor.execute("SELECT gin_clean_pending_list('incident_reason_trigrams')")
            cursor.execute("ANALYZE workflows_incident")
        assert_uses(filter_instances(InstanceFilter(incident="division"))[:100], "incident_reason_trigrams")

    @pytest.mark.parametrize(("standing", "ended"), [(20_000, 0), (20, 20_000)], ids=["many", "few among many"])
    def test_the_newest_at_an_element_are_read_in_order(self, scene: Scene, standing: int, ended: int) -> None:
        head = scene.begin(ORDER)
        add_instances(head, standing, ended=False)
        add_instances(head, ended, ended=True)
        avoid("seqscan")
        plan = filter_instances(InstanceFilter(element="check"))[:100].explain(analyze=True)
        assert "Seq Scan" not in plan, plan
        # A page of them, however many stand there. Of few, all are read, with what another test has left in the index.
        assert standing < 100 or max(map(int, re.findall(r"actual .*? rows=(\d+)", plan))) <= 102, plan


def assert_uses(rows: "QuerySet[WorkflowInstance]", index: str) -> None:
    avoid("seqscan")
    plan = rows.explain()
    assert index in plan, plan


def avoid(*ways: str) -> None:
    """Keep the planner from ways that are the cheapest in a small table alone."""
    with connection.cursor() as cursor:
        for way in ways:
            cursor.execute(f"SET LOCAL enable_{way} = off")


def add_instances(head: Head, count: int, *, ended: bool) -> None:
    """Make copies of an instance by few statements; those that have not ended stand where it does."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            WITH copy AS (
                INSERT INTO workflows_instance (id, definition_id, revision_id, record, status, head, epoch,
                    open_incidents, started_at, ended_at, correlation_id)
                SELECT gen_random_uuid(), definition_id, revision_id, '', %(status)s, 1, 0, 0, started_at,
                    CASE WHEN %(ended)s THEN started_at END, ''
                FROM workflows_instance, generate_series(1, %(count)s) WHERE id = %(like)s
                RETURNING id
            )
            INSERT INTO workflows_search_term (instance_id, term)
            SELECT id, 'element:check' FROM copy WHERE NOT %(ended)s
            """,
            {"status": "completed" if ended else "active", "ended": ended, "count": count, "like": head.id},
        )
        cursor.execute("ANALYZE workflows_instance; ANALYZE workflows_search_term")
