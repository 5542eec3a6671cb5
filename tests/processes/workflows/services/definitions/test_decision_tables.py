"""Tables of the editor: each is saved over the revision that was seen, and over no other."""

from collections.abc import Callable
from typing import Any

import pytest
from django.utils import timezone

from config.common.errors import Invalid
from processes.workflows.engine.dmn.edit import EditedRule, EditedTable, read_edited
from processes.workflows.engine.dmn.model import DecisionTable
from processes.workflows.errors import NoDecision, NotExecutable, RevisionConflict
from processes.workflows.models import WorkflowRevision
from processes.workflows.services.definitions.decision_tables import NewDecision, create_table, save_table
from processes.workflows.services.definitions.library import get_compiled
from tests.processes.workflows.decision_files import DISCOUNT, decision, dmn, literal, table
from tests.processes.workflows.scene import ACTOR, Scene

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.embedded]

InThreads = Callable[[Callable[[int], Any], int], list[Any]]
TWO = dmn(
    decision("a", table(["x"], ["r"], [["> 1", "1"]])),
    decision("z", table(["x"], ["r"], [["> 1", "a"]]), needs=["a"]),
)


def get_revision(key: str, number: int = 1) -> WorkflowRevision:
    return WorkflowRevision.objects.select_related("definition").get(definition=key, number=number)


def read(key: str, number: int = 1) -> EditedTable:
    model = get_compiled(key, number).decision
    assert model is not None
    assert isinstance(model.main.logic, DecisionTable)
    return read_edited(model.main.logic)


def save(key: str, edited: EditedTable) -> Any:
    return save_table(get_revision(key), edited, actor=ACTOR, at=timezone.now())


class TestSaveTable:
    def test_the_rest_of_the_file_stays(self, scene: Scene) -> None:
        scene.publish(TWO)
        edited = read("z")
        edited.rules.append(EditedRule(["<= 1"], ["0"]))
        made = save("z", edited)
        assert [(each.key, each.revision) for each in made.definitions] == [("z", 2), ("a", 2)]
        assert read("a", 2) == read("a", 1)
        assert [rule.inputs for rule in read("z", 2).rules] == [["> 1"], ["<= 1"]]

    def test_of_many_at_once_one_is_saved(self, scene: Scene, in_threads: InThreads) -> None:
        scene.publish(TWO)

        def work(number: int) -> bool:
            key = "az"[number % 2]
            edited = read(key)
            edited.rules[0].outputs = [str(number)]
            try:
                save(key, edited)
            except RevisionConflict:
                return False
            return True

        assert sum(in_threads(work, 4)) == 1
        assert WorkflowRevision.objects.filter(number=2).count() == 2

    def test_what_cannot_be_evaluated_is_not_stored(self, scene: Scene) -> None:
        scene.publish(DISCOUNT)
        edited = read("discount")
        edited.rules[0].outputs = ["("]
        with pytest.raises(NotExecutable):
            save("discount", edited)
        assert WorkflowRevision.objects.count() == 1

    def test_what_is_no_table_cannot_become_one(self, scene: Scene) -> None:
        scene.publish(DISCOUNT)
        scene.publish(dmn(decision("sum", literal("1 + 1"))))
        with pytest.raises(NoDecision):
            save("sum", read("discount"))


class TestCreateTable:
    def create(self, key: str, scene: Scene) -> Any:
        scene.publish(DISCOUNT)
        return create_table(NewDecision(key, "", None), read("discount"), actor=ACTOR, at=timezone.now())

    def test_is_a_decision_of_its_own(self, scene: Scene) -> None:
        assert self.create("other", scene).revision == 1
        assert read("other").rules == read("discount").rules

    def test_a_key_that_is_taken_stays_as_it_is(self, scene: Scene) -> None:
        with pytest.raises(RevisionConflict):
            self.create("discount", scene)

    @pytest.mark.parametrize("key", ["a b", "", "x" * 201, "é/"])
    def test_a_key_of_other_signs_is_refused(self, scene: Scene, key: str) -> None:
        with pytest.raises(Invalid):
            self.create(key, scene)
