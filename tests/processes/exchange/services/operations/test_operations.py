from collections.abc import Callable
from typing import Any
from uuid import UUID, uuid4

import pytest

from config.records.models import ChangeRecord, LogEntry
from notifications.errors import DecisionNeeded
from notifications.models import Alert
from notifications.services.alerts import resolve_alert as close_alert
from processes.exchange.errors import ProcessNotFound, ProcessSettled
from processes.exchange.services.operations import resolve_by_operator
from tests.processes.exchange.outcomes import put_in_doubt
from tests.processes.exchange.scene import Scene, move_files

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]


def resolve(process: str, *, committed: bool) -> None:
    resolve_by_operator(process_id=UUID(process), committed=committed, reason="seen in the ERP", actor="staff:olga")


class TestResolveByOperator:
    def test_committed_finishes_it(self, scene: Scene) -> None:
        process = put_in_doubt(scene)
        resolve(process, committed=True)
        move_files()
        assert scene.process(process)["status"] == "DONE"
        assert scene.folders() == {"Messages": ["r-m1"], "Log": ["m1"]}

    def test_not_committed_offers_the_messages_again(self, scene: Scene) -> None:
        process = put_in_doubt(scene)
        resolve(process, committed=False)
        move_files()
        assert scene.process(process)["status"] == "ROLLED_BACK"
        assert scene.folders() == {"Messages": ["m1"]}

    def test_its_alert_is_closed_by_the_word_alone(self, scene: Scene) -> None:
        put_in_doubt(scene)
        with pytest.raises(DecisionNeeded):
            close_alert(Alert.objects.get(kind="exchange.in_doubt").pk, "staff:olga")

    def test_says_who_did_it_and_why_and_ends_the_alert(self, scene: Scene) -> None:
        process = put_in_doubt(scene)
        resolve(process, committed=True)
        change = ChangeRecord.objects.get(kind="process", object_id=process)
        assert change.actor == "staff:olga"
        assert change.before == {"status": "IN_DOUBT", "decision": ""}
        assert change.after == {"status": "CLEANUP", "decision": "committed", "reason": "seen in the ERP"}
        words = list(LogEntry.objects.filter(subject=f"process/{process}").values_list("text", flat=True))
        assert "olga reports that the ERP has committed: seen in the ERP" in words
        assert Alert.objects.get(kind="exchange.in_doubt").status == "resolved"

    @pytest.mark.parametrize("again", [True, False])
    def test_a_second_word_is_refused_and_changes_nothing(self, scene: Scene, again: bool) -> None:
        process = put_in_doubt(scene)
        resolve(process, committed=True)
        with pytest.raises(ProcessSettled):
            resolve(process, committed=again)
        assert ChangeRecord.objects.filter(kind="process").count() == 1
        assert scene.process(process)["status"] == "CLEANUP"

    def test_while_the_erp_has_time_it_alone_decides(self, scene: Scene) -> None:
        process = scene.ready()
        with pytest.raises(ProcessSettled):
            resolve(process, committed=False)
        assert scene.step(process, "commit") == "OK"

    def test_an_unknown_one_is_not_found(self) -> None:
        with pytest.raises(ProcessNotFound):
            resolve(str(uuid4()), committed=True)


@pytest.mark.django_db(transaction=True)
class TestRace:
    def test_of_two_opposite_words_at_once_one_holds(
        self, scene: Scene, in_threads: Callable[[Callable[[int], Any], int], list[Any]]
    ) -> None:
        process = put_in_doubt(scene)

        def say(number: int) -> bool:
            try:
                resolve(process, committed=bool(number % 2))
            except ProcessSettled:
                return False
            return True

        assert sorted(in_threads(say, 4)) == [False, False, False, True]
        assert ChangeRecord.objects.filter(kind="process").count() == 1
