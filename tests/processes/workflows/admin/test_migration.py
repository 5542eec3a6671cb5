import pytest
from django.test import Client

from tests.processes.workflows.process_files import chain, user
from tests.processes.workflows.scene import Scene

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]

INSTANCES = "/admin/workflows/workflowinstance/"


class TestMigrate:
    def test_moves_what_fits_as_it_is(self, scene: Scene, operator: Client) -> None:
        head = scene.begin(chain("p", user("a")))
        page = f"{INSTANCES}{head.id}/migrate/"
        assert page not in operator.get(f"{INSTANCES}{head.id}/change/").content.decode()
        scene.publish(chain("p", user("a"), user("b")))
        assert page in operator.get(f"{INSTANCES}{head.id}/change/").content.decode()

        answer = operator.post(page, {"version": "1", "revision": "2"}, follow=True)

        assert "The instance has been moved to revision 2." in answer.content.decode()
        assert scene.head(head).revision == 2

    def test_asks_for_a_counterpart(self, scene: Scene, operator: Client) -> None:
        head = scene.begin(chain("p", user("check")))
        scene.publish(chain("p", user("look"), user("ship")))
        page = f"{INSTANCES}{head.id}/migrate/"

        asked = operator.post(page, {"version": "1", "revision": "2"})

        assert "“Check” continues at" in asked.content.decode()
        assert [value for value, _ in asked.context["form"].fields["to:check"].choices] == ["", "look", "ship"]
        assert scene.head(head).number == 1
        operator.post(page, {"version": "1", "revision": "2", "to:check": "nobody"})
        assert scene.head(head).number == 1
        operator.post(page, {"version": "1", "revision": "2", "to:check": "ship"})
        assert [each["element"] for each in scene.head(head).state["tasks"].values()] == ["ship"]

    def test_one_that_has_moved_on_since_is_not_moved(self, scene: Scene, operator: Client) -> None:
        head = scene.begin(chain("p", user("a"), user("b")))
        scene.publish(chain("p", user("a"), user("b"), user("c")))
        scene.complete(head)

        answer = operator.post(f"{INSTANCES}{head.id}/migrate/", {"version": "1", "revision": "2"})

        assert "it is now at version 2" in answer.content.decode()
        assert scene.head(head).revision == 1

    def test_a_viewer_moves_nothing(self, scene: Scene, viewer: Client) -> None:
        head = scene.begin(chain("p", user("a")))
        scene.publish(chain("p", user("a"), user("b")))

        assert viewer.post(f"{INSTANCES}{head.id}/migrate/", {"version": "1", "revision": "2"}).status_code == 403
        assert scene.head(head).number == 1
