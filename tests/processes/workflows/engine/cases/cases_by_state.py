"""Small cases that bring one item, `X`, into a state by commands alone."""

from collections.abc import Callable

from tests.processes.workflows.case_files import (
    case,
    case_task,
    human,
    listener,
    milestone,
    process_task,
    stage,
    timer,
)
from tests.processes.workflows.engine.cases.case_driver import CaseDriver

STATES = ("available", "enabled", "disabled", "active", "suspended", "completed", "terminated", "failed")
KEEPS = human("Keep")
"""It keeps the case open, whatever becomes of the others."""
MAKERS: dict[str, Callable[..., str]] = {
    "human task": human,
    "stage": lambda key, **common: stage(key, human("In"), **common),
    "process task": lambda key, **common: process_task(key, "work", **common),
    "case task": lambda key, **common: case_task(key, "inner", **common),
    "milestone": lambda key, **common: milestone(key, **common),
    "user event listener": listener,
    "timer event listener": lambda key, **common: timer(key, "PT1H", **common),
}
ACTIVITIES = ("human task", "stage", "process task", "case task")
OCCURRENCES = ("milestone", "user event listener", "timer event listener")
PROCESS = """
<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL" targetNamespace="urn:test">
  <error id="lost" errorCode="LOST" />
  <process id="work" isExecutable="true">
    <startEvent id="begin" />
    <userTask id="carry" />
    <exclusiveGateway id="found" default="no" />
    <endEvent id="arrived" />
    <endEvent id="gone"><errorEventDefinition errorRef="lost" /></endEvent>
    <sequenceFlow id="first" sourceRef="begin" targetRef="carry" />
    <sequenceFlow id="then" sourceRef="carry" targetRef="found" />
    <sequenceFlow id="yes" sourceRef="found" targetRef="arrived">
      <conditionExpression>${ok}</conditionExpression>
    </sequenceFlow>
    <sequenceFlow id="no" sourceRef="found" targetRef="gone" />
  </process>
</definitions>
"""
INNER = case(human("Inside"), key="inner").replace('id="plan"', 'id="inner_plan"')


def list_reachable_states(kind: str) -> list[str]:
    """Name the states that an item of a kind can be brought into."""
    if kind in OCCURRENCES:
        return ["available", "suspended", "completed", "terminated"]
    return [state for state in STATES if state != "failed" or kind == "process task"]


def bring_to_state(kind: str, state: str, *, within: bool = False) -> CaseDriver:
    """Begin a case and bring its item X into a state; X can lie in a stage S."""
    item = _item(kind, state)
    parts = [stage("S", item, human("KeepIn"))] if within else [item]
    driver = CaseDriver(case(*parts, listener("Go"), KEEPS), PROCESS, INNER)
    if kind in OCCURRENCES:
        return _bring_moment(driver, kind, state)
    return _bring_activity(driver, kind, state)


def _item(kind: str, state: str) -> str:
    make = MAKERS[kind]
    if kind == "milestone" or (state == "available" and kind in ACTIVITIES):
        return make("X", entry="Go occur")
    return make("X", manual=True) if state in ("enabled", "disabled") else make("X")


def _bring_moment(driver: CaseDriver, kind: str, state: str) -> CaseDriver:
    if state == "suspended":
        driver.item("suspend_item", "X")
    elif state == "terminated":
        driver.item("terminate_item", "X")
    elif state == "completed":
        _let_happen(driver, kind)
    assert driver.states("X") == [state]
    return driver


def _let_happen(driver: CaseDriver, kind: str) -> None:
    if kind == "timer event listener":
        driver.fire("X")
    else:
        driver.item("occur", "Go" if kind == "milestone" else "X")


def _bring_activity(driver: CaseDriver, kind: str, state: str) -> CaseDriver:
    ways = {"disabled": "disable", "suspended": "suspend_item", "terminated": "terminate_item"}
    if state in ways:
        driver.item(ways[state], "X")
    elif state == "completed":
        driver.complete(_TASKS[kind], ok=True)
    elif state == "failed":
        driver.complete("carry", ok=False)
    assert driver.states("X") == [state]
    return driver


_TASKS = {"human task": "X", "stage": "In", "process task": "carry", "case task": "Inside"}
