import pytest

from tests.processes.workflows.process_files import chain, user
from tests.processes.workflows.scene import Scene
from tests.search_answers import found
from tests.staff import signed_in

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]


class TestFindInstances:
    def test_one_is_found_by_its_id_its_record_and_the_id_of_a_task(self, scene: Scene) -> None:
        head, browser = scene.begin(chain("approval", user("a")), record="order-7"), signed_in("viewer")
        for text in (str(head.id), "order-7", scene.task(head)):
            page = f"/admin/workflows/workflowinstance/{head.id}/change/"
            assert found(browser, text)["Workflow instances"] == [page]

    def test_those_of_a_record_are_newest_first(self, scene: Scene) -> None:
        heads = [scene.begin(chain("approval", user("a")), record="order-7") for _ in range(2)]
        pages = found(signed_in("viewer"), "order-7")["Workflow instances"]
        assert pages == [f"/admin/workflows/workflowinstance/{head.id}/change/" for head in reversed(heads)]


class TestFindDefinitions:
    def test_one_is_found_by_part_of_its_key(self, scene: Scene) -> None:
        scene.publish(chain("approval", user("a")))
        page = "/admin/workflows/workflowdefinition/approval/change/"
        assert found(signed_in("viewer"), "pprov")["Workflow definitions"] == [page]
