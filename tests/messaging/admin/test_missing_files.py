import pytest
from django.test import Client

from messaging.files.paths import root
from messaging.models import Message
from tests.messaging.raw_calls import file_of
from tests.processes.exchange.scene import Scene
from tests.processes.exchange.test_volume import give_up, unmounted
from tests.staff import signed_in

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]

PAGE = "/admin/messaging/message/missing/"


@pytest.fixture
def operator() -> Client:
    return signed_in("operator")


def chosen(browser: Client) -> list[int]:
    return [row.message.pk for row in browser.get(PAGE).context["returned"]]


class TestMissingFiles:
    def test_says_that_nothing_was_given_up(self, operator: Client) -> None:
        assert "No message has lost its file." in operator.get(PAGE).content.decode()

    def test_what_is_there_again_comes_back_at_once_with_one_reason(self, scene: Scene, operator: Client) -> None:
        for id in ("m1", "m2", "m3"):
            give_up(scene, id)
        file_of(scene, "m3").unlink()
        answer = operator.post(PAGE, {"message": chosen(operator), "reason": "mounted again"}, follow=True)
        assert "2 messages restored." in answer.content.decode()
        assert [row.message.public_id for row in answer.context["missing"]] == ["m3"]
        assert [message["id"] for message in scene.start()["messages"]] == ["m1", "m2"]

    def test_wants_a_reason(self, scene: Scene, operator: Client) -> None:
        give_up(scene, "m1")
        answer = operator.post(PAGE, {"message": chosen(operator)})
        assert answer.context["form"].errors
        assert Message.objects.get().status == "incorrect"

    def test_tells_of_a_file_that_is_not_as_it_was_written(self, scene: Scene, operator: Client) -> None:
        give_up(scene, "m1")
        file_of(scene, "m1").write_text("{}")
        answer = operator.post(PAGE, {"message": chosen(operator), "reason": "?"}, follow=True)
        assert "The file found differs from this message as it was written." in answer.content.decode()

    def test_says_that_the_volume_is_away(self, scene: Scene, operator: Client) -> None:
        give_up(scene, "m1")
        with unmounted():
            assert f"there is no marker in {root()}" in operator.get(PAGE).content.decode()

    def test_viewer_may_look_and_bring_nothing_back(self, scene: Scene) -> None:
        give_up(scene, "m1")
        viewer = signed_in("viewer")
        assert "m1" in viewer.get(PAGE).content.decode()
        assert viewer.post(PAGE, {"message": chosen(viewer), "reason": "mine"}).status_code == 403
