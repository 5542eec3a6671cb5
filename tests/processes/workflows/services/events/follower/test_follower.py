from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from config.records.models import LogEntry
from messaging.models import Enterprise
from notifications.models import Event, Follower
from notifications.services.events import NewEvent, record_event
from notifications.services.relay import relay_once
from notifications.services.sequencer import stamp_once
from processes.workflows.engine.state_queries import get_variables
from processes.workflows.heads import Head
from processes.workflows.models import PostponedEvent, WorkflowIncident, WorkflowInstance, WorkflowSubscription
from processes.workflows.services.events import arrivals
from processes.workflows.services.events.arrivals import OfferOutcome, offer_event, take_postponed_events
from processes.workflows.services.events.follower import FOLLOWING, handle_events
from processes.workflows.services.events.receive import receive_event
from tests.processes.workflows.process_files import (
    chain,
    flow,
    message,
    named,
    process,
    sending,
    signal,
    signalled,
    started_by,
    user,
)
from tests.processes.workflows.scene import Scene

pytestmark = [pytest.mark.django_db, pytest.mark.embedded]

X = named("custom.x")
WAITS = chain("p", message("m"), user("a"), before=X)
STARTS = chain("q", user("a"), before=X, start=started_by())


def tell(type: str = "custom.x", *, record: str = "", **payload: Any) -> None:
    """Receive an event and let it be taken."""
    receive_event(source="test", type=type, record=record, payload=payload, at=timezone.now())
    follow()


def follow() -> None:
    while stamp_once():
        pass
    while relay_once(FOLLOWING):
        pass


def again() -> None:
    """Hand everything over once more, as after a crash."""
    Follower.objects.update(position=0)
    follow()


def variables(head: Head) -> Any:
    return next(iter((head.state or {"scopes": {}})["scopes"].values()))["variables"]


class TestWaiting:
    def test_an_event_reaches_the_instance_with_its_record(self, scene: Scene) -> None:
        mine, other = scene.begin(WAITS, record="r1"), scene.start("p", record="r2")
        tell(record="r1", amount=3)
        assert (scene.waits_at(mine), scene.waits_at(other)) == (["a"], ["m"])
        assert variables(scene.head(mine)) == {"amount": 3}
        assert scene.chain(mine)[-1][2] == "event custom.x"

    def test_an_event_of_the_product_is_about_its_subject(self, scene: Scene) -> None:
        lost = named("sensor.connection_lost")
        head = scene.begin(chain("p", message("m"), user("a"), before=lost), record="sensor/0xA")
        record_event(NewEvent("sensor.connection_lost", "sensor/0xA", timezone.now(), {"sensor_id": "0xA"}))
        follow()
        assert scene.waits_at(head) == ["a"]

    def test_a_name_without_the_prefix_catches_it_too(self, scene: Scene) -> None:
        head = scene.begin(chain("p", message("m"), user("a"), before=named("x")))
        tell("custom.x")
        assert scene.waits_at(head) == ["a"]

    def test_a_correlation_that_gives_a_value_is_compared_with_the_record(self, scene: Scene) -> None:
        by_order = message("m", attributes='postern:correlation="payload.order"')
        mine, other = scene.begin(chain("p", by_order, user("a"), before=X), record="7"), scene.start("p", record="8")
        tell(record="elsewhere", order=7)
        assert (scene.waits_at(mine), scene.waits_at(other)) == (["a"], ["m"])

    def test_a_correlation_that_says_yes_or_no_is_asked_of_each_instance(self, scene: Scene) -> None:
        source = chain("p", message("m", attributes='postern:correlation="order == mine"'), user("a"), before=X)
        yes, no = scene.begin(source, mine=7), scene.start("p", mine=8)
        tell(order=7)
        assert (scene.waits_at(yes), scene.waits_at(no)) == (["a"], ["m"])

    def test_a_condition_filters(self, scene: Scene) -> None:
        source = chain("p", message("m", attributes='postern:condition="amount &gt; limit"'), user("a"), before=X)
        head = scene.begin(source, limit=10)
        tell(amount=5)
        assert scene.waits_at(head) == ["m"]
        tell(amount=15)
        assert scene.waits_at(head) == ["a"]

    def test_a_condition_that_fails_is_an_incident(self, scene: Scene) -> None:
        source = chain("p", message("m", attributes='postern:condition="amount / 0 == 1"'), user("a"), before=X)
        head = scene.begin(source)
        tell(amount=5)
        assert (scene.head(head).status, WorkflowIncident.objects.get().element) == ("incident", "m")
        assert scene.command(head, "retry_incident").status == "active"
        assert scene.waits_at(head) == ["a"]

    def test_an_event_that_is_handed_over_again_is_taken_once(self, scene: Scene) -> None:
        twice = chain("p", message("m"), message("n"), user("a"), before=X)
        head = scene.begin(twice)
        tell()
        again()
        assert scene.waits_at(head) == ["n"]
        tell()
        again()
        assert (scene.waits_at(head), scene.head(head).number) == (["a"], 3)

    def test_a_place_that_goes_on_waiting_takes_an_event_once(self, scene: Scene) -> None:
        reminds = (
            '<boundaryEvent id="m" attachedToRef="a" cancelActivity="false"><messageEventDefinition messageRef="m1"/>'
            "</boundaryEvent>"
        )
        source = process(
            "p",
            '<startEvent id="begin"/><endEvent id="end"/><endEvent id="end2"/>',
            user("a")[1],
            reminds,
            user("b")[1],
            *(flow(*pair) for pair in (("begin", "a"), ("a", "end"), ("m", "b"), ("b", "end2"))),
            before=X,
        )
        head = scene.begin(source)
        tell()
        WorkflowSubscription.objects.update(after_position=0)
        again()
        assert scene.waits_at(head) == ["a", "b"]
        tell()
        assert scene.waits_at(head) == ["a", "b", "b"]

    def test_a_suspended_instance_takes_it_when_it_goes_on(self, scene: Scene) -> None:
        head = scene.begin(WAITS)
        scene.command(head, "suspend")
        tell(n=1)
        again()
        assert (PostponedEvent.objects.count(), scene.waits_at(head)) == (1, ["m"])
        scene.command(head, "resume")
        take_postponed_events()
        assert (PostponedEvent.objects.count(), scene.waits_at(head)) == (0, ["a"])

    def test_one_who_is_overtaken_leaves_a_postponed_event_to_the_other(
        self, scene: Scene, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        head = scene.begin(WAITS)
        scene.command(head, "suspend")
        tell(n=1)
        PostponedEvent.objects.update(due_at="2020-01-01T00:00Z")

        def resumed_right_after(instance_id: Any, request: Any) -> OfferOutcome:
            outcome = offer_event(instance_id, request)
            scene.command(head, "resume")
            return outcome

        with monkeypatch.context() as patch:
            patch.setattr(arrivals, "offer_event", resumed_right_after)
            take_postponed_events()
        assert scene.waits_at(head) == ["m"], "it was suspended when it was offered the event"
        take_postponed_events()
        assert (PostponedEvent.objects.count(), scene.waits_at(head)) == (0, ["a"])

    def test_what_nobody_waits_for_costs_one_look(self, scene: Scene, django_assert_num_queries: Any) -> None:
        scene.begin(WAITS)
        events = [Event(pk=n, position=n, type="sensor.state_changed", subject="s", payload={}) for n in range(100)]
        with django_assert_num_queries(1):
            handle_events(events)


class TestSignals:
    HEARS = chain("p", signal("s"), user("a"), before=signalled("alarm"))

    def test_a_signal_reaches_all(self, scene: Scene) -> None:
        one, two = scene.begin(self.HEARS, record="r1"), scene.start("p", record="r2")
        scene.begin(chain("q", signal("t", throws=True), before=signalled("alarm")), record="r3")
        follow()
        assert (scene.waits_at(one), scene.waits_at(two)) == (["a"], ["a"])

    @pytest.mark.parametrize("inputs", [{}, {"amount": "amount + 1"}])
    def test_carries_nothing_that_the_file_does_not_map(self, scene: Scene, inputs: dict[str, str]) -> None:
        heads = [scene.begin(self.HEARS, record="r1", customer="ALICE"), scene.start("p", record="r2", customer="BOB")]
        thrower = chain("q", signal("t", throws=True, **inputs), before=signalled("alarm"))
        scene.begin(thrower, record="r3", customer="MALLORY", secret="s", amount=1)
        follow()
        mapped = {"amount": 2} if inputs else {}
        expected = [{"customer": name, **mapped} for name in ("ALICE", "BOB")]
        assert [get_variables(scene.head(head).state or {}) for head in heads] == expected

    @pytest.mark.parametrize("inputs", [{}, {"amount": "amount + 1"}])
    def test_so_does_a_message(self, scene: Scene, inputs: dict[str, str]) -> None:
        head = scene.begin(chain("p", message("m"), user("a"), before=X), record="r1", customer="ALICE")
        scene.begin(chain("q", sending("t", **inputs), before=X), record="r1", customer="MALLORY", amount=1)
        follow()
        mapped = {"amount": 2} if inputs else {}
        assert scene.waits_at(head) == ["a"]
        assert get_variables(scene.head(head).state or {}) == {"customer": "ALICE", **mapped}

    def test_it_does_not_come_back_to_whoever_threw_it(self, scene: Scene) -> None:
        source = chain("q", signal("t", throws=True), signal("s"), user("a"), before=signalled("alarm"))
        head = scene.begin(source)
        follow()
        assert scene.waits_at(head) == ["s"]


class TestStarts:
    def test_an_event_begins_an_instance(self, scene: Scene) -> None:
        scene.publish(STARTS)
        tell(record="r1", amount=3)
        instance = WorkflowInstance.objects.get()
        assert (instance.definition_id, instance.record, instance.status) == ("q", "r1", "active")

    def test_once(self, scene: Scene) -> None:
        scene.publish(STARTS)
        tell()
        again()
        assert WorkflowInstance.objects.count() == 1

    def test_whoever_begins_by_an_event_does_not_take_it_again(self, scene: Scene) -> None:
        scene.publish(chain("q", message("m"), user("a"), before=X, start=started_by()))
        tell()
        again()
        assert WorkflowSubscription.objects.get().element == "m"
        tell()
        assert WorkflowInstance.objects.count() == 2

    def test_an_event_of_before_the_definition_begins_nothing(self, scene: Scene) -> None:
        receive_event(source="test", type="custom.x", at=timezone.now())
        scene.publish(STARTS)
        follow()
        assert not WorkflowInstance.objects.exists()

    def test_a_condition_filters(self, scene: Scene) -> None:
        wants = started_by(attributes='postern:condition="amount &gt; 10"')
        scene.publish(chain("q", user("a"), before=X, start=wants))
        tell(amount=5)
        tell(amount=15)
        assert WorkflowInstance.objects.count() == 1

    def test_a_condition_that_fails_is_logged(self, scene: Scene) -> None:
        wants = started_by(attributes='postern:condition="amount / 0 == 1"')
        scene.publish(chain("q", user("a"), before=X, start=wants))
        tell(amount=5)
        assert not WorkflowInstance.objects.exists()
        assert "custom.x" in LogEntry.objects.get(kind="workflow").text

    def test_a_correlation_names_the_record(self, scene: Scene) -> None:
        wants = started_by(attributes='postern:correlation="order"')
        scene.publish(chain("q", user("a"), before=X, start=wants))
        tell(order=12)
        assert WorkflowInstance.objects.get().record == "12"

    def test_nobody_of_one_enterprise_sees_the_events_of_another(self, scene: Scene) -> None:
        for name in ("acme", "other"):
            Enterprise.objects.create(id=name, name=name)
        received = named("message.received")
        scene.publish(chain("q", user("a"), before=received, start=started_by()), "acme")
        self._receive("other")
        assert not WorkflowInstance.objects.exists()
        self._receive("acme")
        assert WorkflowInstance.objects.count() == 1

    def _receive(self, enterprise: str) -> None:
        record_event(
            NewEvent("message.received", f"message/{enterprise}/1", timezone.now(), {"enterprise": enterprise})
        )
        follow()


class TestGrowth:
    def test_an_event_costs_the_same_however_many_others_wait(self, scene: Scene) -> None:
        scene.begin(WAITS, record="mine")
        self._count()  # what is read once in a process
        scene.start("p", record="mine")
        alone = self._count()
        for number in range(5):
            scene.start("p", record=f"r{number}")
        scene.start("p", record="mine")
        assert self._count() == alone

    def _count(self) -> int:
        """Count the statements by which an event is taken."""
        receive_event(source="test", type="custom.x", record="mine", at=timezone.now())
        stamp_once()
        events = list(Event.objects.order_by("-position")[:1])
        with CaptureQueriesContext(connection) as counted:
            handle_events(events)
        return len(counted)
