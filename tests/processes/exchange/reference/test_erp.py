from collections.abc import Iterator
from pathlib import Path

import pytest

from processes.exchange.reference.client import Message, Refused
from processes.exchange.reference.erp import Ending
from processes.exchange.reference.faults import Faults, Rates
from processes.exchange.reference.hooks import Hooks, Point
from processes.exchange.reference.ledger import Deadlock, IncorrectMessage
from processes.exchange.reference.store import Store
from tests.processes.exchange.reference.erp_and_server import Bench, CrashAt, Crashed, schema_of_its_own
from tests.processes.exchange.reference.fake_server import serving

FAILING_COMMIT = Faults(Rates(commit_failure=1))


@pytest.fixture(params=["sqlite", "postgresql"])
def erp(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Bench]:
    with serving() as (fake, url):
        if request.param == "sqlite":
            bench = Bench(fake, url, str(tmp_path / "erp.sqlite3"))
            yield bench
            bench.close()
            return
        with schema_of_its_own(request.getfixturevalue("servers").database) as address:
            bench = Bench(fake, url, address)
            yield bench
            bench.close()


class Fails(Hooks):
    """Fail one message, after its effect, with one error."""

    def __init__(self, message_id: str, error: Exception) -> None:
        self._message_id, self._error = message_id, error

    def applied(self, process_id: str, message: Message) -> None:
        if message["id"] == self._message_id:
            raise self._error


class LeavesOut(Hooks):
    def __init__(self, *ids: str) -> None:
        self._ids = ids

    def leaves_out(self, process_id: str, message: Message) -> bool:
        return message["id"] in self._ids


class TestExchangeOnce:
    def test_each_message_takes_effect_and_its_sender_gets_a_reply(self, erp: Bench) -> None:
        erp.fake.put("m1", "m2", "m3")
        outcome = erp.exchange()
        assert (outcome.ending, outcome.count("PROCESSED")) == (Ending.DONE, 3)
        assert erp.effects() == {"m1": 1, "m2": 1, "m3": 1}
        assert erp.balance() == 30
        replies = [erp.fake.stored[reply["id"]].message for reply in outcome.replies]
        assert [(reply["to"], reply["reply_to"], reply["payload"]["balance"]) for reply in replies] == [
            ("d1", "m1", 10),
            ("d1", "m2", 20),
            ("d1", "m3", 30),
        ]
        assert erp.exchange().ending == Ending.IDLE

    def test_the_limits_and_filters_are_asked_for(self, erp: Bench) -> None:
        erp.exchange(subsystems=["shop"], senders=["d1"], max_files=3, max_mb=1)
        asked = erp.fake.called("processes")[-1].json
        del asked["request_id"]
        assert asked == {"version": 1, "subsystems": ["shop"], "senders": ["d1"], "max_files": 3, "max_mb": 1}

    def test_a_lost_answer_to_api_1_is_asked_for_again(self, erp: Bench) -> None:
        erp.fake.put("m1")
        erp.fake.expect("processes", "answer lost", "answer lost")
        assert erp.exchange().ending == Ending.DONE
        first, *others = [call.body for call in erp.fake.called("processes")]
        assert others == [first, first]
        assert (len(erp.fake.processes), erp.effects()) == (1, {"m1": 1})

    def test_a_deadlocked_message_is_undone_and_taken_next_time(self, erp: Bench) -> None:
        erp.fake.put("m1", "m2")
        outcome = erp.exchange(Fails("m1", Deadlock()))
        assert [result["status"] for result in outcome.results] == ["PROCESSED_DEADLOCK", "PROCESSED"]
        assert (erp.effects(), erp.balance()) == ({"m2": 1}, 10)
        erp.exchange()
        assert (erp.effects(), erp.balance()) == ({"m1": 1, "m2": 1}, 20)

    def test_an_incorrect_message_is_undone_and_reported_with_text_and_code(self, erp: Bench) -> None:
        erp.fake.put("m1", "m2")
        outcome = erp.exchange(Fails("m1", IncorrectMessage("bad", 7)))
        assert outcome.results[0] == {
            "message": "m1",
            "status": "PROCESSED_INCORRECT",
            "error_text": "bad",
            "error_code": 7,
        }
        assert erp.effects() == {"m2": 1}
        assert (erp.fake.place("m1"), erp.fake.place("m2")) == ("Error", "Log")

    def test_a_payload_it_cannot_read_is_incorrect(self, erp: Bench) -> None:
        erp.fake.put("m1", payload={"account": "bad\x00", "amount": 1})
        assert erp.exchange().count("PROCESSED_INCORRECT") == 1
        assert erp.fake.place("m1") == "Error"

    def test_what_it_leaves_out_by_api_2_stays_in_the_queue(self, erp: Bench) -> None:
        erp.fake.put("m1", "m2", "m3")
        assert erp.exchange(LeavesOut("m2")).ending == Ending.DONE
        assert erp.fake.called("accept")[0].json["messages"] == ["m1", "m3"]
        assert (erp.effects(), erp.fake.place("m2")) == ({"m1": 1, "m3": 1}, "Messages")

    def test_leaving_out_everything_ends_the_process_without_a_transaction(self, erp: Bench) -> None:
        erp.fake.put("m1")
        assert erp.exchange(LeavesOut("m1")).ending == Ending.CANCELLED
        assert (erp.fake.process().status, erp.fake.called("prepare")) == ("INTERRUPTED", [])
        assert erp.exchange().ending == Ending.DONE

    def test_a_wrong_key_is_an_error(self, erp: Bench) -> None:
        erp.fake.inactive.add("erp")
        with pytest.raises(Refused):
            erp.exchange()

    def test_a_stop_by_the_operator_rolls_back_and_calls_api_6(self, erp: Bench) -> None:
        erp.fake.put("m1", "m2")
        stops = iter([False, True])
        assert erp.exchange(stopped=lambda: next(stops)).ending == Ending.INTERRUPTED
        assert erp.fake.process().log == ["Stopped: stopped by the operator"]
        assert erp.effects() == {}

    def test_a_bug_rolls_back_calls_api_6_and_is_raised(self, erp: Bench) -> None:
        erp.fake.put("m1")
        with pytest.raises(KeyError):
            erp.exchange(Fails("m1", KeyError("a bug")))
        assert erp.fake.process().status == "INTERRUPTED"
        assert erp.effects() == {}


class TestPrepare:
    def test_a_lost_answer_is_repeated_with_the_same_body(self, erp: Bench) -> None:
        erp.fake.put("m1", "m2")
        erp.fake.expect("prepare", "answer lost", "unavailable")
        assert erp.exchange().ending == Ending.DONE
        assert len({call.body for call in erp.fake.called("prepare")}) == 1
        assert len(erp.fake.called("prepare")) == 3
        assert erp.effects() == {"m1": 1, "m2": 1}

    def test_cancelled_rolls_back_and_leaves_no_effect(self, erp: Bench) -> None:
        erp.fake.put("m1")
        erp.fake.expect("prepare", "cancelled")
        assert erp.exchange().ending == Ending.CANCELLED
        assert (erp.effects(), erp.balance()) == ({}, 0)
        assert not erp.fake.called("commit")

    @pytest.mark.parametrize("trouble", ["answer lost", "call lost"])
    def test_without_an_answer_it_rolls_back_and_settles_at_the_next_exchange(self, erp: Bench, trouble: str) -> None:
        erp.fake.put("m1")
        erp.fake.expect("prepare", *[trouble] * 3)  # type: ignore[arg-type]
        assert erp.exchange().ending == Ending.NO_ANSWER
        assert erp.effects() == {}
        assert erp.exchange().ending == Ending.DONE
        assert (erp.effects(), erp.balance()) == ({"m1": 1}, 10)

    def test_a_refused_body_rolls_back_and_calls_api_6(self, erp: Bench) -> None:
        erp.fake.put("m1")
        erp.fake.expect("prepare", "refused")
        assert erp.exchange().ending == Ending.INTERRUPTED
        assert (erp.fake.process().status, erp.effects()) == ("INTERRUPTED", {})


class TestCommit:
    def test_a_failed_commit_calls_api_5_with_the_text(self, erp: Bench) -> None:
        erp.fake.put("m1")
        outcome = erp.exchange(FAILING_COMMIT)
        assert outcome.ending == Ending.ROLLED_BACK
        assert "foreign key" in erp.fake.process().log[0].lower()
        assert erp.effects() == {}
        assert (erp.exchange().ending, erp.effects()) == (Ending.DONE, {"m1": 1})

    def test_a_lost_api_5_is_resolved_as_not_committed(self, erp: Bench) -> None:
        erp.fake.put("m1")
        erp.fake.expect("rollback", *["call lost"] * 3)  # type: ignore[arg-type]
        assert erp.exchange(FAILING_COMMIT).ending == Ending.ROLLED_BACK
        assert erp.exchange().ending == Ending.DONE
        assert erp.fake.called("resolve")[0].json == {"version": 1, "committed": False}
        assert erp.effects() == {"m1": 1}

    def test_an_error_after_the_commit_took_place_counts_as_committed(
        self, erp: Bench, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def commit_and_lose_the_connection(store: Store) -> None:
            store.execute("COMMIT")
            store.close()
            store.execute("SELECT 1")

        monkeypatch.setattr(Store, "commit", commit_and_lose_the_connection)
        erp.fake.put("m1")
        assert erp.exchange().ending == Ending.DONE
        assert (erp.effects(), erp.fake.called("rollback")) == ({"m1": 1}, [])

    @pytest.mark.parametrize("trouble", ["answer lost", "call lost"])
    def test_without_an_answer_to_api_4_the_next_api_1_names_the_process(self, erp: Bench, trouble: str) -> None:
        erp.fake.put("m1")
        erp.fake.expect("commit", *[trouble] * 3)  # type: ignore[arg-type]
        assert erp.exchange().ending == Ending.COMMITTED
        assert erp.exchange().ending == Ending.IDLE
        assert erp.fake.called("processes")[-1].json["committed"] == ["p1"]
        assert (erp.fake.process().status, erp.effects()) == ("DONE", {"m1": 1})

    def test_a_process_once_confirmed_is_not_named_again(self, erp: Bench) -> None:
        erp.fake.put("m1")
        erp.fake.expect("commit", *["call lost"] * 3)  # type: ignore[arg-type]
        for _ in range(3):
            erp.exchange()
        assert ["committed" in call.json for call in erp.fake.called("processes")] == [False, True, False]

    def test_an_api_1_without_an_answer_leaves_the_process_to_be_named_again(self, erp: Bench) -> None:
        erp.fake.put("m1")
        erp.fake.expect("commit", *["call lost"] * 3)  # type: ignore[arg-type]
        erp.exchange()
        erp.fake.expect("processes", *["call lost"] * 3)  # type: ignore[arg-type]
        assert erp.exchange().ending == Ending.NO_ANSWER
        assert erp.exchange().ending == Ending.IDLE
        assert erp.fake.called("processes")[-1].json["committed"] == ["p1"]

    def test_cancelled_after_the_commit_is_a_dispute(self, erp: Bench) -> None:
        erp.fake.put("m1")
        erp.fake.expect("commit", "cancelled")
        assert erp.exchange().ending == Ending.DISPUTED
        assert erp.effects() == {"m1": 1}


class TestHeal:
    @pytest.mark.parametrize("timed_out", [False, True])
    @pytest.mark.parametrize("point", list(Point))
    def test_a_crash_anywhere_leaves_each_message_with_one_effect(
        self, erp: Bench, point: Point, timed_out: bool
    ) -> None:
        erp.fake.put("m1", "m2", "m3")
        with pytest.raises(Crashed):
            erp.exchange(CrashAt(point))
        if timed_out:
            erp.fake.time_out()
        erp.restart()
        if erp.exchange(take_over=True).ending == Ending.BUSY:
            erp.exchange()
        assert (erp.effects(), erp.balance()) == ({"m1": 1, "m2": 1, "m3": 1}, 30)
        assert {erp.fake.place(id) for id in ("m1", "m2", "m3")} == {"Log"}
        assert sum(s.message["to"] == "d1" and s.place == "Messages" for s in erp.fake.stored.values()) == 3

    def test_a_crash_after_the_commit_is_resolved_as_committed(self, erp: Bench) -> None:
        erp.fake.put("m1")
        erp.crash(Point.AFTER_COMMIT)
        assert erp.fake.called("resolve")[0].json == {"version": 1, "committed": True}

    def test_a_crash_before_the_commit_is_resolved_as_not_committed(self, erp: Bench) -> None:
        erp.fake.put("m1")
        erp.crash(Point.BEFORE_COMMIT)
        assert erp.fake.called("resolve")[0].json == {"version": 1, "committed": False}
        assert erp.fake.process().status == "ROLLED_BACK"

    def test_a_process_it_never_noted_is_left_alone_without_take_over(self, erp: Bench) -> None:
        erp.fake.put("m1")
        erp.crash(Point.AFTER_API_1)
        assert erp.exchange().ending == Ending.BUSY
        assert not erp.fake.called("abandon")

    def test_another_worker_of_the_same_store_is_left_alone(self, erp: Bench) -> None:
        erp.fake.put("m1")
        with pytest.raises(Crashed):
            erp.exchange(CrashAt(Point.BEFORE_COMMIT), worker="other")
        erp.restart()
        assert erp.fake.process().status == "READY_TO_COMMIT"

    def test_a_settled_process_can_no_longer_be_committed(self, erp: Bench) -> None:
        class SettledMeanwhile(Hooks):
            def reached(self, point: Point, process_id: str) -> None:
                if point == Point.AFTER_API_1:
                    assert not erp.store.was_committed(process_id)

        erp.fake.put("m1")
        assert erp.exchange(SettledMeanwhile()).ending == Ending.INTERRUPTED
        assert erp.effects() == {}
        assert (erp.exchange().ending, erp.effects()) == (Ending.DONE, {"m1": 1})
