from typing import Any
from uuid import uuid4

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client

from config.records.models import ChangeRecord, LogEntry
from messaging.files.names import name_of
from messaging.models import Message
from processes.exchange.models import ExchangeProcess
from tests.processes.exchange.outcomes import put_in_doubt
from tests.processes.exchange.scene import Scene, move_files
from tests.staff import signed_in

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]

LIST = "/admin/exchange/exchangeprocess/"
DOUBT = f"{LIST}doubt/"
QUERIES = 10


@pytest.fixture
def operator() -> Client:
    return signed_in("operator")


def listed(browser: Client, **query: str) -> list[str]:
    return [str(row.pk) for row in browser.get(LIST, query).context["cl"].result_list]


def address(process: str, page: str = "change") -> str:
    return f"{LIST}{process}/{page}/"


def fail(scene: Scene) -> str:
    """Let the move of a file fail."""
    process = scene.ready()
    scene.step(process, "commit")
    for file in (settings.DATA_DIR / "messages" / scene.database.pk / "Messages").glob("*_m1_*"):
        file.unlink()
    move_files()
    return process


class TestList:
    def test_says_how_far_each_has_come(self, scene: Scene, operator: Client) -> None:
        scene.ready()
        page = operator.get(LIST).content.decode()
        for part in ("ERP", "ready to commit", 'data-step="done"', 'data-step="now"', 'data-step="next"'):
            assert part in page
        row = operator.get(LIST).context["cl"].result_list[0]
        assert (row.number_of_messages, len(row.replies)) == (1, 1)

    def test_newest_first_narrowed_and_found(self, scene: Scene, operator: Client) -> None:
        first = put_in_doubt(scene)
        second = scene.ready(id="m2")
        assert listed(operator) == [second, first]
        assert listed(operator, status="IN_DOUBT") == [first]
        assert listed(operator, status="live") == [second]
        assert listed(operator, database__id__exact="acme-erp") == [second, first]
        assert listed(operator, database__id__exact="other") == []
        assert listed(operator, q=first) == [first]
        ExchangeProcess.objects.filter(pk=second).update(correlation_id="the-chain")
        assert listed(operator, q="the-chain") == [second]
        assert listed(operator, q=str(uuid4())) == []

    def test_costs_the_same_for_many(self, scene: Scene, operator: Client, django_assert_num_queries: Any) -> None:
        operator.get(LIST)
        for number in range(8):
            scene.step(scene.ready(id=f"m{number}"), "commit")
            move_files()
            with django_assert_num_queries(QUERIES):
                listed(operator)


class TestPage:
    def test_tells_its_way_its_messages_files_log_and_alerts(self, scene: Scene, operator: Client) -> None:
        process = fail(scene)
        page = operator.get(address(process)).content.decode()
        for part in (
            'data-step="bad"',
            "Messages → Log",
            "1 file still to be moved",
            "r-m1",
            "Messages: 1, bytes: ",
            "the file of message m1 cannot be moved",
        ):
            assert part in page

    def test_replies_that_were_taken_back_are_named(self, scene: Scene, operator: Client) -> None:
        process = scene.ready()
        scene.step(process, "rollback", error_text="no")
        page = operator.get(address(process)).content.decode()
        assert "r-m1" in page
        assert "reply, deleted" in page

    @pytest.mark.parametrize("status", ExchangeProcess.Status.values)
    def test_knows_every_status(self, scene: Scene, operator: Client, status: str) -> None:
        process = ExchangeProcess.objects.get(pk=scene.ready())
        live = status in ("STARTED", "READY_TO_COMMIT", "CLEANUP", "FAILED")
        process.status, process.ended_at = status, None if live else process.ready_at
        process.decision = "committed" if status in ("CLEANUP", "FAILED", "DONE") else ""
        process.save()
        assert operator.get(address(str(process.pk))).status_code == 200
        assert operator.get(LIST).status_code == 200

    def test_hostile_words_of_the_erp_are_text(self, scene: Scene, operator: Client) -> None:
        scene.send()
        process = scene.start()["process_id"]
        result = {"message": "m1", "status": "PROCESSED_INCORRECT", "error_text": "<script>x</script>", "error_code": 7}
        scene.step(process, "prepare", results=[result], replies=[])
        page = operator.get(address(process)).content.decode()
        assert "<script>x" not in page
        assert "7 &lt;script&gt;x&lt;/script&gt;" in page

    def test_an_unknown_one_leads_back(self, operator: Client) -> None:
        assert operator.get(address(str(uuid4()))).status_code == 302
        assert operator.get(address("nonsense")).status_code == 302


class TestRetry:
    def test_a_failed_one_is_tried_again(self, scene: Scene, operator: Client) -> None:
        process = fail(scene)
        assert address(process, "retry") in operator.get(address(process)).content.decode()
        page = operator.post(address(process, "retry"), follow=True).content.decode()
        assert "The files are being moved." in page
        assert ExchangeProcess.objects.get(pk=process).status == "CLEANUP"

    def test_others_are_not(self, scene: Scene, operator: Client) -> None:
        process = scene.ready()
        assert address(process, "retry") not in operator.get(address(process)).content.decode()
        assert operator.post(address(process, "retry"))["Location"] == address(process)


class TestGoOn:
    def test_says_what_it_means_before_it_is_done(self, scene: Scene, operator: Client) -> None:
        process = fail(scene)
        assert address(process, "go-on") in operator.get(address(process)).content.decode()
        page = operator.get(address(process, "go-on")).content.decode()
        for part in ("Message m1 from phone to ERP", "still says “processed”"):
            assert part in page
        assert ExchangeProcess.objects.get(pk=process).status == "FAILED"

    def test_goes_on_with_a_reason_alone(self, scene: Scene, operator: Client) -> None:
        process = fail(scene)
        shown = operator.get(address(process, "go-on")).context["form"]["shown"].value()
        assert "This field is required" in operator.post(address(process, "go-on"), {"shown": shown}).content.decode()
        assert ExchangeProcess.objects.get(pk=process).status == "FAILED"
        page = operator.post(address(process, "go-on"), {"shown": shown, "reason": "gone"}, follow=True)
        assert "The process continues without these files." in page.content.decode()
        move_files()
        assert ExchangeProcess.objects.get(pk=process).status == "DONE"

    @pytest.mark.parametrize("shown", ["", "x", "1,"])
    def test_is_refused_without_what_was_shown(self, scene: Scene, operator: Client, shown: str) -> None:
        process = fail(scene)
        answer = operator.post(address(process, "go-on"), {"shown": shown, "reason": "gone"})
        assert answer.status_code == 200
        assert ExchangeProcess.objects.get(pk=process).status == "FAILED"

    def test_where_the_file_is_back_it_says_so(self, scene: Scene, operator: Client) -> None:
        process = fail(scene)
        message = Message.objects.get(public_id="m1")
        (settings.DATA_DIR / "messages" / scene.database.pk / "Messages" / name_of(message)).write_bytes(b"{}")
        page = operator.get(address(process, "go-on"), follow=True).content.decode()
        assert "None of its files is missing" in page

    def test_others_are_not_offered_it(self, scene: Scene, operator: Client) -> None:
        process = scene.ready()
        assert address(process, "go-on") not in operator.get(address(process)).content.decode()
        assert operator.post(address(process, "go-on"), {"shown": "1", "reason": "x"})["Location"] == address(process)


class TestEnd:
    def test_a_started_one_is_ended_with_a_reason(self, scene: Scene, operator: Client) -> None:
        scene.send()
        process = scene.start()["process_id"]
        assert address(process, "end") in operator.get(address(process)).content.decode()
        assert "This field is required" in operator.post(address(process, "end")).content.decode()
        page = operator.post(address(process, "end"), {"reason": "it hangs"}, follow=True).content.decode()
        assert "The process has ended" in page
        assert scene.process(process)["status"] == "INTERRUPTED"
        assert "staff:olga: it hangs" in scene.process(process)["log"][-1]["text"]
        change = ChangeRecord.objects.get(kind="process")
        assert (change.actor, change.after) == ("staff:olga", {"status": "INTERRUPTED", "reason": "it hangs"})
        assert scene.prepare(process, {"m1": "PROCESSED"}) == "CANCELLED"
        assert scene.start()["status"] == "OK"

    def test_others_are_not(self, scene: Scene, operator: Client) -> None:
        process = scene.ready()
        assert address(process, "end") not in operator.get(address(process)).content.decode()
        assert operator.post(address(process, "end"), {"reason": "x"})["Location"] == address(process)


class TestDoubt:
    def test_shows_what_was_sent_what_was_prepared_and_what_the_erp_said(self, scene: Scene, operator: Client) -> None:
        process = put_in_doubt(scene, "PROCESSED_INCORRECT")
        page = operator.get(DOUBT).content.decode()
        for part in (process, "m1", "r-m1", "bad", "incorrect", "Unknown", "The ERP did not respond in time"):
            assert part in page
        assert address(process, "committed") in page
        assert address(process, "not-committed") in page

    def test_says_when_there_is_none(self, operator: Client) -> None:
        assert "Nothing is in doubt." in operator.get(DOUBT).content.decode()

    def test_the_menu_counts_them(self, scene: Scene, operator: Client) -> None:
        put_in_doubt(scene)
        groups = operator.get(DOUBT).context["sidebar_navigation"]
        badges = {item["title"]: item["badge"] for group in groups for item in group["items"]}
        assert badges["In doubt"] == "1"

    def test_costs_the_same_for_many(self, scene: Scene, operator: Client, django_assert_num_queries: Any) -> None:
        operator.get(DOUBT)
        for number in range(3):
            put_in_doubt(scene, id=f"m{number}")
            with django_assert_num_queries(10):
                operator.get(DOUBT)

    @pytest.mark.parametrize(("button", "status"), [("committed", "CLEANUP"), ("not-committed", "ROLLED_BACK")])
    def test_the_buttons_settle_it_with_a_reason(
        self, scene: Scene, operator: Client, button: str, status: str
    ) -> None:
        process = put_in_doubt(scene)
        assert "check in the ERP first" in operator.get(address(process, button)).content.decode()
        assert "This field is required" in operator.post(address(process, button)).content.decode()
        assert ExchangeProcess.objects.get(pk=process).status == "IN_DOUBT"
        page = operator.post(address(process, button), {"reason": "seen in the ERP"}, follow=True).content.decode()
        assert "The process has been settled." in page
        assert ExchangeProcess.objects.get(pk=process).status == status
        assert ChangeRecord.objects.get(kind="process").actor == "staff:olga"
        assert LogEntry.objects.filter(subject=f"process/{process}", text__contains="seen in the ERP").exists()

    def test_a_second_click_changes_nothing(self, scene: Scene, operator: Client) -> None:
        process = put_in_doubt(scene)
        for _ in range(2):
            answer = operator.post(address(process, "committed"), {"reason": "seen"})
        assert answer["Location"] == address(process)
        assert ChangeRecord.objects.filter(kind="process").count() == 1

    def test_a_viewer_sees_it_and_is_offered_nothing(self, scene: Scene) -> None:
        process = put_in_doubt(scene)
        viewer = signed_in("viewer")
        page = viewer.get(DOUBT).content.decode()
        assert process in page
        assert address(process, "committed") not in page
        assert viewer.post(address(process, "committed"), {"reason": "x"}).status_code == 403
        assert ExchangeProcess.objects.get(pk=process).status == "IN_DOUBT"

    def test_who_may_nothing_is_refused(self) -> None:
        browser = Client()
        browser.force_login(User.objects.create_user("ivan", is_staff=True))
        assert [browser.get(page).status_code for page in (DOUBT, f"{LIST}statistics/")] == [403, 403]

    def test_messages_that_were_settled_leave_it(self, scene: Scene, operator: Client) -> None:
        process = put_in_doubt(scene)
        operator.post(address(process, "not-committed"), {"reason": "seen"})
        move_files()
        assert "Nothing is in doubt." in operator.get(DOUBT).content.decode()
        assert Message.objects.get(public_id="m1").status == "waiting"
