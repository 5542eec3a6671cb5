from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from messaging.models import Message
from processes.exchange.models import ProcessMessage
from processes.exchange.statistics import PARTIES, By, count_over_time, count_totals
from tests.processes.exchange.scene import Scene, move_files
from tests.sensors.api.callers import service

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]

DAY = datetime(2026, 5, 1, tzinfo=UTC)
NEXT = DAY + timedelta(days=1)


@pytest.fixture
def traffic(scene: Scene) -> Scene:
    """Two processed, one incorrect, one deadlocked, one that waits; all accepted at noon of the day."""
    results = {"m1": "PROCESSED", "m2": "PROCESSED", "m3": "PROCESSED_INCORRECT", "m4": "PROCESSED_DEADLOCK"}
    for id in results:
        scene.send(id)
    process = scene.start()["process_id"]
    scene.prepare(process, results, scene.reply("r1", reply_to="m1"))
    scene.step(process, "commit")
    move_files()
    scene.send("m5")
    Message.objects.update(accepted_at=DAY + timedelta(hours=12), size=100)
    settled = Message.objects.filter(settled_at__isnull=False)
    settled.update(settled_at=DAY + timedelta(hours=12, seconds=30))
    settled.filter(public_id="m3").update(settled_at=DAY + timedelta(hours=12, seconds=60))
    ProcessMessage.objects.update(prepared_at=DAY + timedelta(hours=12))
    return scene


class TestTotals:
    @pytest.mark.parametrize("by", list(PARTIES))
    def test_counts_what_was_sent_and_what_became_of_it(self, traffic: Scene, by: By) -> None:
        party: Any = getattr(traffic, by)
        assert count_totals(by, DAY, NEXT) == [
            {
                "id": party.pk,
                "name": party.name,
                "sent": 5,
                "processed": 2,
                "incorrect": 1,
                "deadlocks": 1,
                "bytes": 500,
                "mean_waiting_seconds": 40.0,
                "replies": 1,
                "reply_bytes": 100,
            }
        ]

    def test_the_period_has_its_beginning_and_not_its_end(self, traffic: Scene) -> None:
        noon = DAY + timedelta(hours=12)
        assert count_totals("device", DAY, noon) == []
        assert count_totals("device", noon, noon + timedelta(milliseconds=1))[0]["sent"] == 5
        rest = count_totals("device", noon + timedelta(milliseconds=1), NEXT)[0]
        assert (rest["sent"], rest["processed"]) == (0, 2)

    def test_what_was_settled_in_another_period_counts_there(self, traffic: Scene) -> None:
        Message.objects.filter(settled_at__isnull=False).update(settled_at=NEXT)
        assert count_totals("device", DAY, NEXT)[0]["mean_waiting_seconds"] is None
        later = count_totals("device", NEXT, NEXT + timedelta(days=1))[0]
        assert (later["sent"], later["processed"], later["incorrect"]) == (0, 2, 1)

    def test_replies_that_may_be_taken_back_do_not_count(self, scene: Scene) -> None:
        scene.ready()
        Message.objects.update(accepted_at=DAY)
        assert count_totals("device", DAY, NEXT)[0]["replies"] == 0

    def test_keeps_the_parties_apart(self, traffic: Scene) -> None:
        other = Scene("other")
        other.send("x")
        Message.objects.filter(public_id="x").update(accepted_at=DAY)
        counted = {row["id"]: row["sent"] for row in count_totals("enterprise", DAY, NEXT)}
        assert counted == {"acme": 5, "other": 1}

    def test_costs_the_same_queries_for_any_number(self, traffic: Scene, django_assert_max_num_queries: Any) -> None:
        for name in ("a", "b", "c"):
            Scene(name).send("x")
        Message.objects.update(accepted_at=DAY)
        with django_assert_max_num_queries(6):
            assert len(count_totals("device", DAY, NEXT)) == 4

    def test_answers_the_statistics_call(self, traffic: Scene) -> None:
        query = "by=database&from=2026-05-01T00:00:00Z&to=2026-05-02T00:00:00Z"
        results = service("operations")("GET", f"/statistics/?{query}").json()["results"]
        assert [(row["id"], row["sent"], row["processed"]) for row in results] == [(traffic.database.pk, 5, 2)]


class TestOverTime:
    def test_puts_each_into_its_stretch(self, traffic: Scene, django_assert_max_num_queries: Any) -> None:
        with django_assert_max_num_queries(5):
            stretches = count_over_time("device", traffic.device.pk, DAY, NEXT, 24)
        assert [each.at for each in stretches] == [DAY + timedelta(hours=hour) for hour in range(24)]
        busy = {each.at.hour: each for each in stretches if each.sent or each.processed}
        assert list(busy) == [12]
        assert (busy[12].sent, busy[12].processed, busy[12].incorrect, busy[12].deadlocks) == (5, 2, 1, 1)
        assert busy[12].bytes == 500

    def test_a_moment_on_a_bound_belongs_to_the_later_stretch(self, traffic: Scene) -> None:
        assert [each.sent for each in count_over_time("device", "", DAY, NEXT, 2)] == [0, 5]

    def test_is_about_one_party_or_about_all(self, traffic: Scene) -> None:
        Scene("other").send("x")
        Message.objects.update(accepted_at=DAY)
        sums = [sum(each.sent for each in count_over_time("database", id, DAY, NEXT, 3)) for id in ("other-erp", "")]
        assert sums == [1, 6]
