from datetime import UTC, datetime
from typing import Any

import pytest

from processes.workflows.engine.bpmn.parser import parse_bpmn
from processes.workflows.engine.problems import InvalidDefinition
from processes.workflows.engine.runner import run_command

_SPACES = (
    'xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL" xmlns:postern="https://postern.dev/bpmn/1.0"'
    ' xmlns:camunda="http://camunda.org/schema/1.0/bpmn" xmlns:operaton="http://operaton.org/schema/1.0/bpmn"'
    ' xmlns:flowable="http://flowable.org/bpmn" xmlns:activiti="http://activiti.org/bpmn"'
    ' xmlns:zeebe="http://camunda.org/schema/zeebe/1.0"'
)
NOW = datetime(2030, 1, 1, tzinfo=UTC)


def people_of(task: str, *, lanes: str = "", **variables: Any) -> Any:
    """Return whose a task is when it opens; it is the only element of its process."""
    source = (
        f'<definitions {_SPACES}><process id="p" isExecutable="true">{lanes}<startEvent id="s"/>{task}'
        '<sequenceFlow id="f" sourceRef="s" targetRef="t"/></process></definitions>'
    )
    definition = parse_bpmn(source.encode())
    start = {"command": "start", "definition": ["p", 1], "variables": variables}
    state = run_command(lambda key, revision: (definition, 1), None, start, NOW).state
    return [(task.get("detail", ""), task.get("people")) for task in state["tasks"].values()]


class TestAttributes:
    @pytest.mark.parametrize("prefix", ["postern", "camunda", "operaton", "flowable", "activiti"])
    def test_of_every_dialect_mean_the_same(self, prefix: str) -> None:
        said = {
            "assignee": "anna",
            "candidateUsers": "bob, ${deputy}",
            "candidateGroups": "${region}-sales,ops",
            "dueDate": "2030-05-01T10:00:00",
            "followUpDate": "P2D",
            "priority": "70",
        }
        task = f'<userTask id="t" {" ".join(f"{prefix}:{name}={value!r}" for name, value in said.items())}/>'
        [(_, people)] = people_of(task, deputy="dora", region="north")
        assert people == {
            "assignee": "anna",
            "users": ["bob", "dora"],
            "groups": ["north-sales", "ops"],
            "due": "2030-05-01T10:00:00+00:00",
            "follow_up": "2030-01-03T00:00:00+00:00",
            "priority": 70,
        }

    def test_zeebe_writes_elements(self) -> None:
        task = (
            '<userTask id="t"><extensionElements><zeebe:assignmentDefinition assignee="=boss" '
            'candidateGroups=\'=["a", "b"]\' candidateUsers="x, y"/>'
            '<zeebe:taskSchedule dueDate="=due"/><zeebe:priorityDefinition priority="90"/></extensionElements>'
            "</userTask>"
        )
        [(_, people)] = people_of(task, boss="anna", due="2031-01-01T00:00:00Z")
        assert people == {
            "assignee": "anna",
            "users": ["x", "y"],
            "groups": ["a", "b"],
            "due": "2031-01-01T00:00:00+00:00",
            "priority": 90,
        }

    def test_an_expression_may_give_a_list_or_names_with_commas(self) -> None:
        [(_, people)] = people_of('<userTask id="t" camunda:candidateUsers="${some}"/>', some=["a", "b", "a"])
        assert people == {"users": ["a", "b"]}
        [(_, people)] = people_of('<userTask id="t" camunda:candidateUsers="${some}"/>', some="a, b")
        assert people == {"users": ["a", "b"]}

    def test_nothing_said_is_nothing_kept(self) -> None:
        assert people_of('<userTask id="t"/>') == [("", None)]


class TestStandard:
    def test_owners_and_performers_by_literal_expressions(self) -> None:
        def performer(kind: str, text: str) -> str:
            inner = f"<resourceAssignmentExpression><formalExpression>{text}</formalExpression>"
            return f"<{kind}>{inner}</resourceAssignmentExpression></{kind}>"

        owners = performer("potentialOwner", "user(kermit), group(management), sales")
        task = f'<userTask id="t">{performer("humanPerformer", "anna")}{owners}</userTask>'
        [(_, people)] = people_of(task)
        assert people == {"assignee": "anna", "users": ["kermit"], "groups": ["management", "sales"]}

    def test_the_innermost_lane_is_a_candidate_group_where_nobody_is_named(self) -> None:
        lanes = (
            '<laneSet><lane name="Office"><flowNodeRef>t</flowNodeRef><childLaneSet><lane name="Back\noffice">'
            "<flowNodeRef>t</flowNodeRef></lane></childLaneSet></lane></laneSet>"
        )
        assert people_of('<userTask id="t"/>', lanes=lanes) == [("", {"groups": ["Back office"]})]
        assert people_of('<userTask id="t" camunda:assignee="anna"/>', lanes=lanes) == [("", {"assignee": "anna"})]


class TestFailures:
    def test_an_expression_that_fails_is_a_note_and_the_task_opens(self) -> None:
        [(_, people)] = people_of('<userTask id="t" postern:assignee="=1 / 0" postern:priority="=1 / 0"/>')
        assert [note.partition(":")[0] for note in people["notes"]] == ["assignee", "priority"]
        assert "assignee" not in people

    def test_what_another_tool_alone_understands_is_kept_in_a_note(self) -> None:
        task = '<userTask id="t" camunda:assignee="${bean.find(execution)}" camunda:dueDate="tomorrow"/>'
        [(_, people)] = people_of(task)
        assert "${bean.find(execution)}" in people["notes"][0]
        assert "tomorrow" in people["notes"][1]

    def test_ours_is_refused_when_it_is_published(self) -> None:
        with pytest.raises(InvalidDefinition) as refused:
            people_of('<userTask id="t" postern:assignee="=a +" postern:dueDate="tomorrow"/>')
        assert len(refused.value.problems) == 2

    def test_values_that_are_no_names(self) -> None:
        [(_, people)] = people_of('<userTask id="t" postern:candidateUsers="=some"/>', some=[{}, True, None, "x" * 200])
        assert people["users"] == ["x" * 150]
        assert len(people["notes"]) == 3

    def test_more_names_than_a_task_may_have(self) -> None:
        [(_, people)] = people_of('<userTask id="t" postern:candidateUsers="=some"/>', some=list(range(60)))
        assert len(people["users"]) == 50
        assert people["notes"]


class TestLimits:
    def test_a_file_names_so_many_candidates_and_not_one_more(self) -> None:
        names = [f"u{number}" for number in range(51)]
        [(_, people)] = people_of(f'<userTask id="t" camunda:candidateUsers="{",".join(names[:50])}"/>')
        assert len(people["users"]) == 50
        with pytest.raises(InvalidDefinition):
            people_of(f'<userTask id="t" camunda:candidateUsers="{",".join(names)}"/>')

    def test_so_many_notes_are_kept(self) -> None:
        [(_, people)] = people_of('<userTask id="t" postern:candidateUsers="=some"/>', some=[{}] * 6)
        assert len(people["notes"]) == 5


class TestRounds:
    @pytest.mark.parametrize(
        ("items", "details"),
        [
            (["Anna", "Bob"], ["Anna", "Bob"]),
            ([{"id": 7, "name": "Bolt"}, {"other": 1}], ["Bolt", "2/2"]),
            ([None, 5], ["1/2", "5"]),
        ],
    )
    def test_are_told_apart_by_their_element(self, items: list[Any], details: list[str]) -> None:
        loop = (
            "<multiInstanceLoopCharacteristics><loopDataInputRef>all</loopDataInputRef>"
            '<inputDataItem name="each"/></multiInstanceLoopCharacteristics>'
        )
        found = people_of(f'<userTask id="t" postern:assignee="lead">{loop}</userTask>', all=items)
        assert [detail for detail, _ in found] == details
