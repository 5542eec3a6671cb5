"""What is suspended stands still: nothing reaches it, and nothing begins in it."""

import pytest

from processes.workflows.engine.runner import CommandRejected
from tests.processes.workflows.case_files import case, human, listener, milestone, process_task, stage
from tests.processes.workflows.engine.cases.case_driver import CaseDriver
from tests.processes.workflows.engine.cases.cases_by_state import PROCESS

WAITS = """
<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL" targetNamespace="urn:test">
  <signal id="bell" name="bell" />
  <process id="waits" isExecutable="true">
    <startEvent id="begin" />
    <intermediateCatchEvent id="hear"><signalEventDefinition signalRef="bell" /></intermediateCatchEvent>
    <endEvent id="heard" />
    <sequenceFlow id="one" sourceRef="begin" targetRef="hear" />
    <sequenceFlow id="two" sourceRef="hear" targetRef="heard" />
  </process>
</definitions>
"""
RINGS = """
<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL" targetNamespace="urn:test">
  <signal id="bell" name="bell" />
  <process id="rings" isExecutable="true">
    <startEvent id="begin" />
    <intermediateThrowEvent id="ring"><signalEventDefinition signalRef="bell" /></intermediateThrowEvent>
    <endEvent id="rung" />
    <sequenceFlow id="one" sourceRef="begin" targetRef="ring" />
    <sequenceFlow id="two" sourceRef="ring" targetRef="rung" />
  </process>
</definitions>
"""


def two_waiting() -> CaseDriver:
    """Begin a case with two tasks that wait for a signal, the first suspended, and one that will send it."""
    parts = (process_task("W", "waits"), process_task("V", "waits"), process_task("R", "rings", manual=True))
    return CaseDriver(case(*parts), WAITS, RINGS).item("suspend_item", "W")


class TestSuspendItem:
    def test_a_signal_that_is_thrown_meanwhile_does_not_reach_what_is_suspended(self) -> None:
        driver = two_waiting().item("start", "R")
        assert driver.states("W", "V", "R") == ["suspended", "completed", "completed"]
        driver.item("resume_item", "W").do("event", subscription=min(driver.state["subscriptions"]), payload={})
        assert driver.status == "completed"

    def test_an_event_from_outside_is_refused_until_it_goes_on(self) -> None:
        driver = two_waiting()
        waiting = min(driver.state["subscriptions"])
        with pytest.raises(CommandRejected, match="suspended"):
            driver.do("event", subscription=waiting, payload={})
        driver.item("resume_item", "W").do("event", subscription=waiting, payload={})
        assert driver.states("W") == ["completed"]

    def test_what_has_failed_in_a_stage_does_not_leave_it_nor_come_again_while_the_stage_is_suspended(self) -> None:
        inside = process_task("P", "work", exit="Stop occur", repeats=True)
        driver = CaseDriver(case(stage("S", inside, human("Keep")), listener("Stop")), PROCESS)
        driver.complete("carry", ok=False).item("suspend_item", "S").item("occur", "Stop")
        assert driver.states("S", "P") == ["suspended", "failed"]
        assert driver.item("resume_item", "S").states("S", "P") == ["active", "failed"]


class TestExit:
    @pytest.mark.parametrize(
        "part",
        [
            human("A", exit="Stop occur", repeats=True),
            stage("A", human("B"), exit="Stop occur", repeats=True),
            process_task("A", "waits", exit="Stop occur", repeats=True),
        ],
        ids=["task", "stage", "process task"],
    )
    def test_ends_an_item_that_repeats(self, part: str) -> None:
        driver = CaseDriver(case(part, listener("Stop"), human("Keep")), WAITS).item("terminate_item", "A")
        assert driver.states("A") == ["active"]
        assert driver.item("occur", "Stop").states("A") == ["terminated"]

    def test_ends_the_one_that_waits_to_be_entered_too(self) -> None:
        repeated = human("A", entry="M occur", exit="Stop occur", repeats=True)
        again = milestone("M", entry="Go occur", repeats=True)
        driver = CaseDriver.of(repeated, again, listener("Go"), listener("Stop"), human("Keep")).item("occur", "Go")
        assert [driver.state["items"][key]["state"] for key in driver.keys("A")] == ["active", "available"]
        driver.item("occur", "Stop")
        assert [driver.state["items"][key]["state"] for key in driver.keys("A")] == ["terminated"]
        assert driver.complete("Keep").state.get("tasks") is None
