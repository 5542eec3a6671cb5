"""What a process keeps of definitions: bounded in bytes, with what joins come to remember."""

import tracemalloc
from itertools import pairwise

import pytest

from messaging.models import Enterprise
from processes.workflows.engine.definition import Definition
from processes.workflows.engine.execution.limits import MAX_UPSTREAM
from processes.workflows.engine.parser import parse_definition
from processes.workflows.engine.runner import run_command
from processes.workflows.services.definitions.library import (
    COMPILED,
    CompiledCache,
    UnknownDefinition,
    get_compiled,
    library_for,
    measure_definition,
)
from tests.processes.workflows.engine.execution.limits.test_depth import AT
from tests.processes.workflows.process_files import chain, flow, process, script, user
from tests.processes.workflows.scene import Scene

SMALL = chain("small", user("a"))
ONE, TWO = chain("p", user("a")), chain("p", user("a"), user("b"))
EXPRESSIONS = chain("large", *(script(f"t{number}", "a", f"[{'1, ' * 100}1]") for number in range(100)))


def fan(branches: int) -> bytes:
    """A process of one inclusive gateway whose branches, each of two tasks, meet in another."""
    inner = ['<startEvent id="s"/>', '<inclusiveGateway id="g"/>', '<inclusiveGateway id="j"/>', flow("s", "g")]
    for branch in range(branches):
        steps = ["g", f"a{branch}", f"b{branch}", "j"]
        inner += [f'<task id="a{branch}"/>', user(f"b{branch}")[1], *(flow(*pair) for pair in pairwise(steps))]
    return process("fan", *inner, user("z")[1], flow("j", "z"))


class TestMeasureDefinition:
    @pytest.mark.parametrize(
        "source", [EXPRESSIONS, chain("names", *(user(f"u{n}") for n in range(500)))], ids=["expressions", "names"]
    )
    def test_counts_about_what_a_definition_takes(self, source: bytes) -> None:
        tracemalloc.start()
        definition = parse_definition(source)
        taken, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert taken / 3 < measure_definition(definition) < taken * 3


class TestCompiledCache:
    def test_those_used_last_stay_as_many_as_fit(self) -> None:
        definitions = [parse_definition(SMALL) for _ in range(4)]
        cache = CompiledCache(most_bytes=3 * measure_definition(definitions[0]))
        for number, definition in enumerate(definitions[:3]):
            cache.store("small", number, definition)
        cache.find("small", 0)
        cache.store("small", 3, definitions[3])
        assert [cache.find("small", number) is not None for number in range(4)] == [True, False, True, True]

    def test_one_that_is_too_large_by_itself_is_kept_alone(self) -> None:
        small, large = parse_definition(SMALL), parse_definition(EXPRESSIONS)
        cache = CompiledCache(most_bytes=measure_definition(small))
        cache.store("small", 1, small)
        cache.store("large", 1, large)
        assert [len(cache), cache.find("large", 1)] == [1, large]

    @pytest.mark.embedded
    @pytest.mark.django_db
    def test_a_definition_is_compiled_once(self, scene: Scene) -> None:
        scene.begin(SMALL)
        kept = COMPILED.find("small", 1)
        scene.start("small")
        assert kept is not None
        assert COMPILED.find("small", 1) is kept


class TestJoins:
    def definition_after(self, source: bytes) -> Definition:
        """Run a process by completing its tasks one by one; return its definition with what it remembers."""
        definition = parse_definition(source)
        state = run_command(
            lambda key, revision: (definition, 1), None, {"command": "start", "definition": ["fan", 1]}, AT
        ).state
        while task := next((key for key, each in state["tasks"].items() if each["element"] != "z"), None):
            command = {"command": "complete_task", "task": task}
            state = run_command(lambda key, revision: (definition, 1), state, command, AT).state
        assert [task["element"] for task in state["tasks"].values()] == ["z"]
        return definition

    def test_a_join_of_many_flows_remembers_no_more_than_there_is_room_for(self) -> None:
        definition = self.definition_after(fan(300))
        assert sum(len(each) for pair in definition.upstream.values() for each in pair) <= MAX_UPSTREAM

    def test_a_join_is_looked_through_once_for_the_same_tokens(self) -> None:
        definition = self.definition_after(fan(3))
        assert {key for key, _ in definition.upstream} == {"j"}
        assert len(definition.upstream) == 2


@pytest.mark.django_db
@pytest.mark.embedded
class TestLibraryFor:
    def test_gives_the_newest_with_a_version_tag(self, scene: Scene) -> None:
        tagged = b'<process xmlns:camunda="http://camunda.org/schema/1.0/bpmn" camunda:versionTag="stable" '
        for source in (ONE.replace(b"<process ", tagged), TWO.replace(b"<process ", tagged), ONE):
            scene.publish(source)
        definition, revision = library_for(None)("p", "stable")
        assert (revision, "b" in definition.nodes) == (2, True)
        with pytest.raises(UnknownDefinition):
            library_for(None)("p", "unstable")

    def test_gives_the_newest(self, scene: Scene) -> None:
        scene.publish(ONE)
        scene.publish(TWO)
        definition, revision = library_for(None)("p", None)
        assert (revision, "b" in definition.nodes) == (2, True)

    def test_compiles_a_revision_once(self, scene: Scene) -> None:
        scene.publish(ONE)
        assert get_compiled("p", 1) is get_compiled("p", 1)

    def test_keeps_enterprises_apart(self, scene: Scene) -> None:
        Enterprise.objects.create(id="acme", name="Acme")
        scene.publish(ONE, "acme")
        with pytest.raises(UnknownDefinition):
            library_for("other")("p", None)
        assert library_for("acme")("p", None)[1] == 1
