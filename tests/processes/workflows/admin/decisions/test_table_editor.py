import json
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.test import Client

from processes.workflows.admin.decisions.table_editor import LONGEST_TABLE, TableForm
from processes.workflows.models import WorkflowDefinition, WorkflowRevision
from tests.processes.workflows.decision_files import DISCOUNT, decision, dmn, literal
from tests.processes.workflows.process_files import chain, user
from tests.processes.workflows.scene import Scene

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]
LIST = "/admin/workflows/workflowdefinition/"
EDIT = f"{LIST}discount/table"


def read_table(browser: Client, url: str = EDIT) -> Any:
    answer = browser.get(url, follow=True)
    assert answer.status_code == 200
    return answer.context["table"]


def save(browser: Client, table: Any, url: str = EDIT, **fields: str) -> Any:
    page = browser.get(url, follow=True)
    seen = page.context["form"].initial.get("revision", "")
    return browser.post(
        page.request["PATH_INFO"], {"revision": seen, "table": json.dumps(table), **fields}, follow=True
    )


class TestEditTable:
    def test_saves_a_changed_table_as_the_next_revision(self, scene: Scene, operator: Client) -> None:
        scene.publish(DISCOUNT)
        table = read_table(operator)
        table["rules"].append({"inputs": ['"bronze"', "-"], "outputs": ["0.01"], "annotation": "new", "id": ""})
        page = save(operator, table).content.decode()
        assert "revision 2" in page
        assert "&quot;bronze&quot;" in page
        stored = WorkflowRevision.objects.get(number=2)
        assert b'"bronze"' in bytes(stored.source)
        assert WorkflowDefinition.objects.get().newest == 2

    def test_nothing_changed_is_the_same_revision_from_then_on(self, scene: Scene, operator: Client) -> None:
        scene.publish(DISCOUNT)
        save(operator, read_table(operator))
        save(operator, read_table(operator))
        assert WorkflowRevision.objects.count() == 2

    def test_what_cannot_be_read_is_shown_again_with_the_problem(self, scene: Scene, operator: Client) -> None:
        scene.publish(DISCOUNT)
        table = read_table(operator)
        table["rules"][0]["inputs"][0] = "< ("
        answer = save(operator, table)
        assert "The entry “&lt; (” cannot be read" in answer.content.decode()
        assert answer.context["table"]["rules"][0]["inputs"][0] == "< ("
        assert WorkflowRevision.objects.count() == 1

    def test_a_revision_that_was_published_meanwhile_is_not_overwritten(self, scene: Scene, operator: Client) -> None:
        scene.publish(DISCOUNT)
        url = operator.get(EDIT, follow=True)
        table, path = url.context["table"], url.request["PATH_INFO"]
        scene.publish(DISCOUNT.replace(b"0.15", b"0.2"))
        table["rules"].pop()
        answer = operator.post(path, {"table": json.dumps(table), "revision": "1"}, follow=True)
        assert "Another revision has been published since" in answer.content.decode()
        assert WorkflowRevision.objects.count() == 2

    def test_takes_so_many_characters_and_not_one_more(self) -> None:
        most = "x" * LONGEST_TABLE
        field = TableForm.base_fields["table"]
        assert field.clean(most) == most
        with pytest.raises(ValidationError):
            field.clean(most + "x")

    @pytest.mark.parametrize("table", ["{", "[]", '{"hit": "UNIQUE"}', '{"hit": "X", "inputs": []}'])
    def test_what_is_no_table_is_refused(self, scene: Scene, operator: Client, table: str) -> None:
        scene.publish(DISCOUNT)
        url = operator.get(EDIT, follow=True).request["PATH_INFO"]
        assert "The page is out of date" in operator.post(url, {"table": table, "revision": "1"}).content.decode()

    def test_only_tables_can_be_edited_by_those_who_may(self, scene: Scene, operator: Client, viewer: Client) -> None:
        scene.publish(DISCOUNT)
        scene.publish(dmn(decision("sum", literal("1 + 1"))))
        scene.publish(chain("order", user("a")))
        assert viewer.get(EDIT, follow=True).status_code == 403
        assert operator.get(f"{LIST}sum/table", follow=True).status_code == 403
        assert operator.get(f"{LIST}order/table", follow=True).status_code == 403


class TestNewTable:
    def test_publishes_a_decision_of_its_own(self, operator: Client) -> None:
        table = read_table(operator, f"{LIST}new-table")
        table["inputs"][0]["expression"] = "total"
        table["rules"][0] = {"inputs": ["> 100"], "outputs": ['"big"'], "annotation": "", "id": ""}
        page = save(operator, table, f"{LIST}new-table", key="size", name="Size").content.decode()
        assert "Published: “size”, revision 1." in page

    def test_a_key_that_is_taken_is_not_overwritten(self, scene: Scene, operator: Client) -> None:
        scene.publish(DISCOUNT)
        table = read_table(operator, f"{LIST}new-table")
        page = save(operator, table, f"{LIST}new-table", key="discount").content.decode()
        assert "Another revision has been published since" in page
        assert WorkflowRevision.objects.count() == 1

    def test_a_key_of_other_signs_is_refused(self, operator: Client) -> None:
        table = read_table(operator, f"{LIST}new-table")
        assert "Letters, digits" in save(operator, table, f"{LIST}new-table", key="a b").content.decode()
