from collections.abc import Callable, Sequence
from typing import Any

import pytest
from django.db import OperationalError
from django.db.models.functions import Now

from config.audit.changes import record_change
from config.common.database.leases import LeaseLost
from config.records.models import ChangeRecord
from notifications.errors import FollowerWaits, IncidentFailedAgain, IncidentResolved
from notifications.followers import Following
from notifications.models import Alert, Event, Follower, Incident
from notifications.services import relay
from notifications.services.incidents import dismiss_incident, retry_incident
from notifications.services.relay import ATTEMPTS, relay_once
from tests.notifications.recorded_events import record_numbered_events

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]

Register = Callable[..., Following]


def write_down(events: Sequence[Event]) -> None:
    """An effect in the database, as real followers have."""
    for event in events:
        record_change(
            kind="seen",
            object_id=str(event.position),
            action=ChangeRecord.Action.CREATED,
            before=None,
            after={"subject": event.subject},
            actor="follower",
        )


def relay_until_idle(following: Following) -> int:
    """Relay as the loop does, with the pauses after failures skipped; return how many there were."""
    pauses = 0
    for _ in range(1000):
        pauses += Follower.objects.filter(due_at__gt=Now()).update(due_at=Now())
        if not relay_once(following) and not Follower.objects.get().failures:
            return pauses
    raise AssertionError("it never came to an end")


class TestRelayOnce:
    def test_hands_over_in_order_and_moves_on(self, following: Register) -> None:
        seen: list[int | None] = []
        listener = following(lambda events: seen.extend(event.position for event in events))
        record_numbered_events(3)
        assert relay_once(listener) is False, "that was all"
        assert relay_once(listener) is False
        assert seen == [1, 2, 3]
        assert Follower.objects.get().position == 3

    def test_reads_in_batches(self, following: Register) -> None:
        sizes: list[int] = []
        listener = following(lambda events: sizes.append(len(events)), batch=2)
        record_numbered_events(5)
        relay_until_idle(listener)
        assert sizes == [2, 2, 1]

    def test_rolls_the_effects_back_with_the_position(self, following: Register) -> None:
        def fail_at_the_end(events: Sequence[Event]) -> None:
            write_down(events)
            raise ValueError("after the effect")

        listener = following(fail_at_the_end)
        record_numbered_events(1)
        relay_once(listener)
        assert not ChangeRecord.objects.exists()
        assert (Follower.objects.get().position, Follower.objects.get().failures) == (0, 1)

    def test_isolates_the_culprit_and_sets_it_aside_after_ten_failures(self, following: Register) -> None:
        tries: list[int] = []

        def choke_on_two(events: Sequence[Event]) -> None:
            if any(event.payload["n"] == 2 for event in events):
                tries.append(len(events))
                raise ValueError("cannot take two")
            write_down(events)

        listener = following(choke_on_two)
        record_numbered_events(4)
        relay_until_idle(listener)
        assert list(ChangeRecord.objects.order_by("id").values_list("object_id", flat=True)) == [
            "1",
            "3",
            "4",
        ]
        incident = Incident.objects.get()
        assert (incident.position, incident.event["payload"]) == (2, {"n": 2})
        assert "cannot take two" in incident.error
        assert tries == [4, 2] + [1] * ATTEMPTS

    @pytest.mark.parametrize("bad", [1, 2, 100, 199, 200])
    def test_hands_over_no_more_than_three_times_the_batch_and_pauses_for_the_culprit_alone(
        self, following: Register, bad: int
    ) -> None:
        taken: list[int] = []
        calls: list[int] = []

        def choke(events: Sequence[Event]) -> None:
            numbers = [event.payload["n"] for event in events]
            calls.append(len(numbers))
            if bad in numbers:
                raise ValueError("bad")
            taken.extend(numbers)

        listener = following(choke)
        record_numbered_events(200)
        pauses = relay_until_idle(listener)
        assert sorted(taken) == [n for n in range(1, 201) if n != bad], "each good one is committed once"
        assert sum(calls) <= 3 * 200 + ATTEMPTS
        assert pauses == ATTEMPTS - 1

    def test_a_batch_that_fails_where_no_event_does_alone_goes_through(self, following: Register) -> None:
        seen: list[int] = []

        def take_one(events: Sequence[Event]) -> None:
            if len(events) > 1:
                raise ValueError("too many at once")
            seen.append(events[0].payload["n"])

        listener = following(take_one)
        record_numbered_events(6)
        pauses = relay_until_idle(listener)
        assert (seen, Follower.objects.get().last_error) == ([1, 2, 3, 4, 5, 6], "")
        assert pauses == 0

    def test_keeps_its_lease_while_it_looks_for_the_culprit(self, following: Register) -> None:
        held: list[bool] = []

        def choke_on_four(events: Sequence[Event]) -> None:
            held.append(Follower.objects.filter(due_at__gt=Now()).exists())
            if any(event.payload["n"] == 4 for event in events):
                raise ValueError("bad")

        listener = following(choke_on_four)
        record_numbered_events(4)
        relay_once(listener)
        assert (len(held), all(held)) == (5, True)

    @pytest.mark.parametrize("reason", [FollowerWaits("engine away"), OperationalError("deadlock")])
    def test_waits_without_setting_aside_when_the_event_is_not_to_blame(
        self, following: Register, reason: Exception
    ) -> None:
        def wait(events: Sequence[Event]) -> None:
            raise reason

        listener = following(wait)
        record_numbered_events(1)
        for _ in range(ATTEMPTS + 2):
            Follower.objects.update(due_at=Now())
            relay_once(listener)
        assert not Incident.objects.exists()
        assert Follower.objects.get().position == 0

    def test_an_overtaken_reader_moves_nothing(self, following: Register) -> None:
        def be_overtaken(events: Sequence[Event]) -> None:
            write_down(events)
            Follower.objects.update(fence=99)

        listener = following(be_overtaken)
        record_numbered_events(1)
        assert relay_once(listener) is False
        assert Follower.objects.get().position == 0
        assert not ChangeRecord.objects.exists()

    def test_outside_effects_run_in_no_transaction(self, following: Register, transactional_db: None) -> None:
        from django.db import connection

        inside: list[bool] = []
        listener = following(lambda events: inside.append(connection.in_atomic_block), outside=True)
        record_numbered_events(1)
        relay_once(listener)
        assert inside == [False]
        assert Follower.objects.get().position == 1

    def test_effects_outside_come_before_the_position(self, following: Register) -> None:
        positions: list[int] = []

        def fail_outside(events: Sequence[Event]) -> None:
            positions.append(Follower.objects.get().position)
            raise ValueError("the far side said no")

        listener = following(fail_outside, outside=True)
        record_numbered_events(2)
        relay_once(listener)
        assert (positions, Follower.objects.get().position) == ([0, 0], 0), "nothing is behind the position undone"

    def test_one_that_is_overtaken_sets_nothing_aside(self, following: Register) -> None:
        def be_overtaken_and_fail(events: Sequence[Event]) -> None:
            raise ValueError("sick")

        listener = following(be_overtaken_and_fail)
        record_numbered_events(1)
        relay_once(listener)
        follower = Follower.objects.get()
        follower.failures, follower.fence = ATTEMPTS - 1, follower.fence - 1  # as a reader that was paused has it
        with pytest.raises(LeaseLost):
            relay._record_failure(follower, relay._Culprit(Event.objects.get(), ValueError("sick")))
        assert not Incident.objects.exists()

    def test_an_idle_look_writes_nothing(self, following: Register, django_assert_num_queries: Any) -> None:
        listener = following(write_down)
        record_numbered_events(1)
        relay_until_idle(listener)
        with django_assert_num_queries(1):
            assert relay_once(listener) is False


class TestIncidents:
    def set_aside(self, following: Register) -> tuple[Incident, list[str]]:
        mood = ["sick"]

        def handle(events: Sequence[Event]) -> None:
            if mood[0] == "sick":
                raise ValueError("sick")
            write_down(events)

        listener = following(handle)
        record_numbered_events(1)
        relay_until_idle(listener)
        return Incident.objects.get(), mood

    def test_retry_hands_the_kept_copy_over_and_resolves(self, following: Register) -> None:
        incident, mood = self.set_aside(following)
        Event.objects.all().delete()
        mood[0] = "well"
        retry_incident(incident_id=incident.pk, actor="anna")
        assert ChangeRecord.objects.get(kind="seen").object_id == "1"
        with pytest.raises(IncidentResolved):
            retry_incident(incident_id=incident.pk, actor="anna")

    def test_a_retry_that_fails_leaves_it_open(self, following: Register) -> None:
        incident, _ = self.set_aside(following)
        with pytest.raises(IncidentFailedAgain):
            retry_incident(incident_id=incident.pk, actor="anna")
        assert Incident.objects.get().resolved_at is None

    def test_dismissal_keeps_who_and_why(self, following: Register) -> None:
        incident, _ = self.set_aside(following)
        dismiss_incident(incident_id=incident.pk, actor="anna", reason="a test row")
        assert Incident.objects.get().resolution == "dismissed by anna: a test row"

    def test_raises_an_alert_that_closes_with_the_last_of_its_follower(self, following: Register) -> None:
        incident, _ = self.set_aside(following)
        alert = Alert.objects.get()
        assert (alert.kind, alert.subject, alert.status) == ("follower.incident", "follower/listener", "open")
        assert "sick" in alert.detail["error"]
        Incident.objects.create(follower=incident.follower, position=99, type="t", subject="s", event={}, error="e")
        dismiss_incident(incident_id=incident.pk, actor="anna", reason="one")
        assert Alert.objects.get().status == "open"
        dismiss_incident(incident_id=Incident.objects.get(position=99).pk, actor="anna", reason="two")
        alert.refresh_from_db()
        assert (alert.status, alert.resolution) == ("resolved", "dismissed by anna: two")
