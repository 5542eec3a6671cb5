"""Messages with which the ERP falls silent or rolls back: told, offered last, and in lists that get shorter."""

from uuid import UUID

import pytest
from django.db.models import Max

from messaging.models import Message
from processes.exchange.services.operations import resolve_by_operator
from processes.exchange.services.settlement import MOST_ISOLATION, MOST_SETBACKS, PATIENCE
from tests.processes.exchange.scene import Answer, Scene, move_files
from tests.processes.exchange.states import alerts, bring_to, let_time_pass

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]


def taken(answer: Answer) -> list[str]:
    return [message["id"] for message in answer["messages"]]


def time_out(scene: Scene, times: int = 1) -> list[str]:
    """Let the ERP fall silent with whatever it is offered; return the last list."""
    for _ in range(times):
        answer = scene.start()
        let_time_pass(answer["process_id"])
    return taken(answer)


def exchange(scene: Scene, dies_of: str) -> list[str]:
    """Let an ERP process what it is offered, unless that message is among it; return the list."""
    answer = scene.start()
    process, messages = answer["process_id"], taken(answer)
    if dies_of in messages:
        let_time_pass(process)
    else:
        assert scene.prepare(process, dict.fromkeys(messages, "PROCESSED")) == "OK"
        assert scene.step(process, "commit") == "OK"
        move_files()
    return messages


class TestTimeOut:
    def test_fifth_running_is_told_and_the_message_offered_last(self, scene: Scene) -> None:
        scene.send("m1")
        time_out(scene, PATIENCE - 1)
        assert alerts("message.setbacks") == []
        time_out(scene)
        assert alerts("message.setbacks") == ["message/acme/m1"]
        scene.send("m2")
        assert taken(scene.start()) == ["m2"], "nothing is offered together with it"

    def test_the_alert_closes_when_it_is_processed_after_all(self, scene: Scene) -> None:
        scene.send("m1")
        time_out(scene, PATIENCE)
        exchange(scene, dies_of="")
        assert alerts("message.setbacks") == []
        message = Message.objects.get()
        assert (message.setbacks, message.is_postponed, message.isolation) == (0, False, 0)

    def test_whoever_was_offered_with_it_is_soon_through(self, scene: Scene) -> None:
        for number in range(10):
            scene.send(f"m{number}")
        lists = [exchange(scene, dies_of="m3") for _ in range(14)]
        waiting = Message.objects.filter(status="waiting").values_list("public_id", flat=True)
        assert list(waiting) == ["m3"]
        assert [len(each) for each in lists[:PATIENCE]] == [10] * PATIENCE
        assert lists[-1] == ["m3"]

    def test_newer_ones_pass_it_by(self, scene: Scene) -> None:
        scene.send("bad")
        time_out(scene, PATIENCE)
        for number in range(3):
            scene.send(f"m{number}")
            assert exchange(scene, dies_of="bad") == [f"m{number}"]

    def test_interrupting_is_no_setback(self, scene: Scene) -> None:
        scene.send("m1")
        for call in ("interrupt", "abandon"):
            scene.step(scene.start()["process_id"], call, text="not now")
        assert Message.objects.get().setbacks == 0

    def test_counters_have_an_end(self, scene: Scene) -> None:
        scene.send("m1")
        Message.objects.update(setbacks=MOST_SETBACKS, isolation=MOST_ISOLATION, is_postponed=True)
        assert time_out(scene, 2) == ["m1"]
        most = Message.objects.aggregate(a=Max("setbacks"), b=Max("isolation"))
        assert most == {"a": MOST_SETBACKS, "b": MOST_ISOLATION}


def roll_back(scene: Scene, call: str = "rollback", **fields: object) -> list[str]:
    """Let the ERP prepare whatever it is offered, and then say that it could not commit; return the list."""
    answer = scene.start()
    messages = taken(answer)
    assert scene.prepare(answer["process_id"], dict.fromkeys(messages, "PROCESSED")) == "OK"
    assert scene.step(answer["process_id"], call, **fields) == "OK"
    move_files()
    return messages


class TestRollBack:
    @pytest.mark.parametrize(
        ("call", "fields"),
        [("rollback", {"error_text": "no"}), ("abandon", {"text": "no"}), ("resolve", {"committed": False})],
    )
    def test_fifth_running_is_told_and_the_message_offered_last(
        self, scene: Scene, call: str, fields: dict[str, object]
    ) -> None:
        scene.send("m1")
        for _ in range(PATIENCE - 1):
            roll_back(scene, call, **fields)
        assert alerts("message.setbacks") == []
        roll_back(scene, call, **fields)
        assert alerts("message.setbacks") == ["message/acme/m1"]
        scene.send("m2")
        assert taken(scene.start()) == ["m2"], "nothing is offered together with it"

    def test_from_doubt_too(self, scene: Scene) -> None:
        process = scene.ready()
        let_time_pass(process)
        assert scene.step(process, "rollback", error_text="no") == "OK"
        move_files()
        assert Message.objects.get().setbacks == 1
        assert scene.files("Messages") == ["m1"]

    def test_the_receipt_keeps_the_error_text(self, scene: Scene) -> None:
        scene.send("m1")
        for _ in range(PATIENCE + 1):
            roll_back(scene, error_text="no space")
        receipt = scene.receipt()
        assert (receipt["status"], receipt["error_text"]) == ("waiting", "no space")

    def test_whoever_was_offered_with_it_is_soon_through(self, scene: Scene) -> None:
        for number in range(8):
            scene.send(f"m{number}")
        for _ in range(14):
            answer = scene.start()
            messages = taken(answer)
            assert scene.prepare(answer["process_id"], dict.fromkeys(messages, "PROCESSED")) == "OK"
            fields = {"error_text": "bad"} if "m3" in messages else {}
            assert scene.step(answer["process_id"], "rollback" if fields else "commit", **fields) == "OK"
            move_files()
        waiting = Message.objects.filter(status="waiting").values_list("public_id", flat=True)
        assert list(waiting) == ["m3"]

    def test_an_operators_word_is_no_setback(self, scene: Scene) -> None:
        process = scene.ready()
        let_time_pass(process)
        resolve_by_operator(process_id=UUID(process), committed=False, reason="seen", actor="staff:olga")
        assert Message.objects.get().setbacks == 0

    def test_nor_is_our_own_disk(self, scene: Scene) -> None:
        bring_to(scene, "NEVER_READY")
        assert Message.objects.get().setbacks == 0
