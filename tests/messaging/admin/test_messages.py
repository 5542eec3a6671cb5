from datetime import timedelta
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.utils import timezone

from config.records.models import ChangeRecord
from messaging.admin import requeue
from messaging.models import Message
from tests.processes.exchange.outcomes import put_in_doubt, put_into_error
from tests.processes.exchange.scene import Scene, gather, move_files
from tests.staff import signed_in

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]

LIST = "/admin/messaging/message/"
QUERIES = 9


@pytest.fixture
def operator() -> Client:
    return signed_in("operator")


def listed(browser: Client, **query: str) -> list[str]:
    return [row.public_id for row in browser.get(LIST, query).context["cl"].result_list]


def address(id: str = "m1", page: str = "change") -> str:
    return f"{LIST}{Message.objects.get(public_id=id).pk}/{page}/"


def file_of(scene: Scene, id: str, folder: str) -> Path:
    return next((settings.DATA_DIR / "messages" / scene.database.pk / folder).glob(f"*_{id}_*"))


class TestList:
    def test_says_from_whom_to_whom_how_it_fares_and_how_long_it_waits(self, scene: Scene, operator: Client) -> None:
        scene.send()
        Message.objects.update(accepted_at=timezone.now() - timedelta(hours=3, minutes=1))
        page = operator.get(LIST).content.decode()
        for part in ("m1", 'phone <span class="pst-arrow">→</span> ERP', "sales", "waiting", "3\xa0hours"):
            assert part in page

    def test_a_reply_goes_the_other_way(self, scene: Scene, operator: Client) -> None:
        scene.ready()
        assert 'ERP <span class="pst-arrow">→</span> phone' in operator.get(LIST).content.decode()

    def test_newest_first_and_narrowed(self, scene: Scene, operator: Client) -> None:
        put_into_error(scene)
        put_in_doubt(scene, id="m2")
        other = Scene("other")
        other.send("m9")
        assert listed(operator) == ["m9", "r-m2", "m2", "r-m1", "m1"]
        assert listed(operator, status="incorrect") == ["m1"]
        assert listed(operator, status="in_doubt") == ["r-m2", "m2"]
        assert listed(operator, folder="Messages") == ["m9", "r-m1"]
        assert listed(operator, direction="reply") == ["r-m2", "r-m1"]
        assert listed(operator, database__id__exact="other-erp") == ["m9"]
        assert listed(operator, subsystem__id__exact="other-sales") == ["m9"]
        assert listed(operator, enterprise__id__exact="acme", folder="Error") == ["m1"]

    def test_finds_by_id_its_beginning_and_the_device(self, scene: Scene, operator: Client) -> None:
        scene.add_device("tablet")
        scene.send("abc-1")
        scene.send("abc-12", of="acme-tablet")
        assert listed(operator, q="abc-1") == ["abc-1"]
        assert listed(operator, q="abc") == ["abc-12", "abc-1"]
        assert listed(operator, q="acme-tablet") == ["abc-12"]
        assert listed(operator, q="Tablet") == ["abc-12"]
        assert listed(operator, q="bc-1") == []

    def test_costs_the_same_for_many(self, scene: Scene, operator: Client, django_assert_num_queries: Any) -> None:
        def queries_of(count: int) -> int:
            for number in range(count):
                scene.send(f"m{count}-{number}", of=scene.add_device(f"d{count}-{number}").pk)
            with django_assert_num_queries(QUERIES):
                return len(listed(operator))

        operator.get(LIST)
        assert (queries_of(1), queries_of(20)) == (1, 21)

    def test_several_go_back_to_the_queue_for_one_reason(self, scene: Scene, operator: Client) -> None:
        for id in ("m1", "m2"):
            put_into_error(scene, id)
        scene.send("m3")
        chosen = Message.objects.filter(direction="request").values_list("pk", flat=True)
        asked = {"action": "requeue_chosen", "_selected_action": list(chosen)}
        assert "3 messages:" in operator.post(LIST, asked).content.decode()
        assert Message.objects.filter(status="incorrect").count() == 2
        assert "This field is required" in operator.post(LIST, {**asked, "confirmed": "yes"}).content.decode()
        page = operator.post(LIST, {**asked, "confirmed": "yes", "reason": "prices came"}, follow=True).content.decode()
        assert "2 messages have been put back into the queue." in page
        assert "1 skipped" in page
        assert {change.after["reason"] for change in ChangeRecord.objects.filter(kind="message")} == {"prices came"}

    def test_of_too_many_the_first_go_back(
        self, scene: Scene, monkeypatch: pytest.MonkeyPatch, operator: Client
    ) -> None:
        monkeypatch.setattr(requeue, "MOST_AT_ONCE", 1)
        for id in ("m1", "m2"):
            put_into_error(scene, id)
        chosen = list(Message.objects.filter(status="incorrect").values_list("pk", flat=True))
        asked = {"action": "requeue_chosen", "_selected_action": chosen, "confirmed": "yes", "reason": "prices came"}
        operator.post(LIST, asked, follow=True)
        assert Message.objects.get(status="incorrect").public_id == "m2"

    def test_a_viewer_sees_it_and_is_offered_nothing(self, scene: Scene) -> None:
        put_into_error(scene)
        viewer = signed_in("viewer")
        assert "requeue_chosen" not in viewer.get(LIST).content.decode()
        asked = {"action": "requeue_chosen", "_selected_action": [1], "confirmed": "yes", "reason": "x"}
        viewer.post(LIST, asked)
        assert Message.objects.get(public_id="m1").status == "incorrect"


class TestPage:
    def test_shows_the_content_laid_out(self, scene: Scene, operator: Client) -> None:
        payload = r'{"price":1.50,"name":"\u0447ай \ud83d\ude00 \\u0447 \u0022 \u202e"}'
        body = f'{{"version":1,"id":"m1","to":"{scene.database.pk}","payload":{payload}}}'
        scene.call("POST", "/messages/", body.encode(), of=scene.device.pk)
        page = unescape(operator.get(address()).content.decode())
        assert '"payload": {\n    "price": 1.50,\n' in page
        assert r'"name": "чай 😀 \\u0447 \u0022 \u202e"' in page

    def test_hostile_content_is_text(self, scene: Scene, operator: Client) -> None:
        scene.send("m1", "</pre><script>alert(1)</script>\u0007")
        page = operator.get(address()).content.decode()
        assert "<script>alert" not in page
        assert "&lt;/pre&gt;&lt;script&gt;alert(1)&lt;/script&gt;" in page

    def test_what_is_no_text_is_shown_all_the_same(self, scene: Scene, operator: Client) -> None:
        scene.send()
        file_of(scene, "m1", "Messages").write_bytes(b'{"<b>": "\xff\x00')
        page = operator.get(address()).content.decode()
        assert "{&quot;&lt;b&gt;&quot;: &quot;\ufffd␀" in page
        assert "cannot be formatted as JSON" in page

    def test_of_a_large_one_the_beginning(self, scene: Scene, operator: Client) -> None:
        scene.send("m1", "é" * 50_000)
        page = operator.get(address()).content.decode()
        assert "First 64 KiB" in page
        assert 10_000 < page.count("\\u00e9") < 65_536 / 6

    def test_a_missing_file_is_said_plainly(self, scene: Scene, operator: Client) -> None:
        scene.send()
        file_of(scene, "m1", "Messages").unlink()
        assert "It is not in its folder" in operator.get(address()).content.decode()

    def test_a_file_that_is_still_to_be_moved_is_found(self, scene: Scene, operator: Client) -> None:
        scene.send("m1", "here I am")
        process = scene.start()["process_id"]
        scene.prepare(process, {"m1": "PROCESSED"})
        scene.step(process, "commit")
        assert "Messages → Log" in operator.get(address()).content.decode()
        assert "here I am" in operator.get(address()).content.decode()

    def test_a_link_in_its_place_is_not_followed(self, scene: Scene, operator: Client, tmp_path: Path) -> None:
        scene.send()
        (tmp_path / "secret").write_text("the secret")
        file = file_of(scene, "m1", "Messages")
        file.unlink()
        file.symlink_to(tmp_path / "secret")
        page = operator.get(address()).content.decode()
        assert "the secret" not in page
        assert "Something other than a file has this name." in page

    def test_leads_to_its_process_its_replies_and_its_trace(self, scene: Scene, operator: Client) -> None:
        process = scene.ready("PROCESSED_INCORRECT")
        Message.objects.update(correlation_id="the-chain")
        page = operator.get(address()).content.decode()
        for part in (
            f"/admin/exchange/exchangeprocess/{process}/change/",
            "bad",
            address("r-m1"),
            "trace/?id=the-chain",
        ):
            assert part in page
        reply = operator.get(address("r-m1")).content.decode()
        assert address("m1") in reply
        assert f"/admin/exchange/exchangeprocess/{process}/change/" in reply

    def test_who_may_not_see_processes_sees_none(self, scene: Scene) -> None:
        scene.ready()
        person = User.objects.create_user("ivan", is_staff=True)
        person.user_permissions.add(Permission.objects.get(codename="view_message"))
        browser = Client()
        browser.force_login(person)
        page = browser.get(address())
        assert page.status_code == 200
        assert "exchangeprocess" not in page.content.decode()

    def test_who_may_nothing_sees_nothing(self, scene: Scene) -> None:
        scene.send()
        browser = Client()
        browser.force_login(User.objects.create_user("ivan", is_staff=True))
        assert browser.get(address()).status_code == 403
        assert browser.get(address(page="download")).status_code == 403


class TestDownload:
    def test_is_the_file_and_nothing_that_acts(self, scene: Scene) -> None:
        scene.send("m1", "<script>alert(1)</script>")
        answer: Any = signed_in("viewer").get(address(page="download"))
        file = file_of(scene, "m1", "Messages")
        assert gather(answer.streaming_content) == file.read_bytes()
        assert answer["Content-Disposition"] == f'attachment; filename="{file.name}"'
        assert answer["Content-Security-Policy"] == "sandbox; default-src 'none'"
        assert answer["X-Content-Type-Options"] == "nosniff"
        assert answer["Content-Length"] == str(file.stat().st_size)

    def test_a_broken_file_comes_as_it_is(self, scene: Scene, operator: Client) -> None:
        scene.send()
        file_of(scene, "m1", "Messages").write_bytes(b"half")
        answer: Any = operator.get(address(page="download"))
        assert gather(answer.streaming_content) == b"half"

    def test_a_missing_file_is_said_on_the_page(self, scene: Scene, operator: Client) -> None:
        scene.send()
        file_of(scene, "m1", "Messages").unlink()
        page = operator.get(address(page="download"), follow=True).content.decode()
        assert "The file of this message cannot be read." in page


class TestRequeue:
    def test_asks_for_the_reason_and_does_it(self, scene: Scene, operator: Client) -> None:
        put_into_error(scene)
        assert "This field is required" in operator.post(address(page="requeue"), {"reason": " "}).content.decode()
        assert Message.objects.get(public_id="m1").status == "incorrect"
        page = operator.post(address(page="requeue"), {"reason": "prices came"}, follow=True).content.decode()
        assert "The message is back in the queue." in page
        assert "by olga: prices came" in page
        move_files()
        assert "m1" in scene.files("Messages")

    def test_is_not_offered_where_it_cannot_be(self, scene: Scene, operator: Client) -> None:
        scene.send()
        assert address(page="requeue") not in operator.get(address()).content.decode()
        assert operator.post(address(page="requeue"), {"reason": "x"})["Location"] == address()

    def test_a_viewer_is_refused(self, scene: Scene) -> None:
        put_into_error(scene)
        viewer = signed_in("viewer")
        assert address(page="requeue") not in viewer.get(address()).content.decode()
        assert viewer.post(address(page="requeue"), {"reason": "x"}).status_code == 403


class TestSetAside:
    def test_what_waits_is_set_aside_with_a_reason_and_brought_back(self, scene: Scene, operator: Client) -> None:
        scene.send()
        assert address(page="set-aside") in operator.get(address()).content.decode()
        assert "This field is required" in operator.post(address(page="set-aside")).content.decode()
        page = operator.post(address(page="set-aside"), {"reason": "it kills"}, follow=True).content.decode()
        assert "The message has been set aside." in page
        assert (listed(operator, status="set_aside"), scene.start()["status"]) == (["m1"], "IDLE")
        assert address(page="set-aside") not in operator.get(address()).content.decode()
        page = operator.post(address(page="bring-back"), {"reason": "mended"}, follow=True).content.decode()
        assert "The message is offered again." in page
        assert (listed(operator, status="set_aside"), scene.start()["status"]) == ([], "OK")
        assert ChangeRecord.objects.filter(kind="message", actor="staff:olga").count() == 2

    def test_what_does_not_wait_is_not(self, scene: Scene, operator: Client) -> None:
        scene.ready()
        for page in ("set-aside", "bring-back"):
            assert address(page=page) not in operator.get(address()).content.decode()
            assert operator.post(address(page=page), {"reason": "x"})["Location"] == address()

    def test_a_viewer_is_offered_nothing(self, scene: Scene) -> None:
        scene.send()
        viewer = signed_in("viewer")
        assert address(page="set-aside") not in viewer.get(address()).content.decode()
        assert viewer.post(address(page="set-aside"), {"reason": "x"}).status_code == 403
