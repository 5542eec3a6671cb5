from datetime import UTC, datetime, timedelta

from sensors.simulation.fleet import Fleet, Habits, Message

START = datetime(2026, 1, 1, tzinfo=UTC)


def run(fleet: Fleet, ticks: int = 2000) -> list[Message]:
    sent = [message for n in range(ticks) for message in fleet.signals(START + timedelta(seconds=n))]
    return sent + fleet.rest()


class TestFleet:
    def test_the_same_seed_gives_the_same_signals(self) -> None:
        assert run(Fleet(10, seed=7)) == run(Fleet(10, seed=7))
        assert run(Fleet(10, seed=7)) != run(Fleet(10, seed=8))

    def test_repeats_reorders_and_falls_silent(self) -> None:
        sent = run(Fleet(10))
        ids = [message["id"] for message in sent]
        assert len(set(ids)) < len(ids)
        assert sorted(ids) != ids
        assert len(set(ids)) < 2000

    def test_a_well_behaved_fleet_sends_each_signal_once_in_order(self) -> None:
        calm = Habits(duplicates=0, disorder=0, silences=0)
        ids = [message["id"] for message in run(Fleet(10, habits=calm))]
        assert ids == sorted(set(ids))
        assert len(ids) == 2000

    def test_nothing_held_back_is_lost(self) -> None:
        habits = Habits(disorder=0.5, duplicates=0, silences=0)
        assert len(run(Fleet(5, habits=habits), 500)) == 500
