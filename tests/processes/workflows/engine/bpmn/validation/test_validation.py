"""What cannot run, each with the element and the line; in a wrapped body the first line is 4."""

import pytest

from processes.workflows.engine.bpmn.parser import parse_bpmn
from processes.workflows.engine.problems import InvalidDefinition
from tests.processes.workflows.engine.bpmn.source_files import FILES, find_problems, wrap
from tests.processes.workflows.engine.bpmn.validation.told_problems import TIMER, told

MANY = "multiInstanceLoopCharacteristics"


class TestAllAtOnce:
    def test_every_problem_of_a_file_is_named_in_its_order(self) -> None:
        problems = find_problems((FILES / "broken.bpmn").read_bytes())
        assert [(problem.element, problem.line) for problem in problems] == [
            ("Message_none", 3),
            ("again", 6),
            ("nowhere", 7),
            ("rules", 8),
            ("left", 11),
            ("right", 12),
            ("inner_begin", 14),
            ("inner_begin", 14),
            ("across", 15),
            ("hanging", 17),
            ("end", 18),
        ]

    def test_no_more_than_a_hundred(self) -> None:
        tasks = "".join(f'<complexGateway id="t{number}" />' for number in range(150))
        assert len(find_problems(wrap(tasks))) == 100

    def test_the_error_says_the_first_of_them(self) -> None:
        with pytest.raises(InvalidDefinition, match="complexGateway"):
            parse_bpmn(wrap('<complexGateway id="t" />'))


class TestTypes:
    @pytest.mark.parametrize("name", ["adHocSubProcess", "complexGateway", "callChoreography", "tsk"])
    def test_elements_that_cannot_run_are_refused_once(self, name: str) -> None:
        body = f'<{name} id="t" /><sequenceFlow id="f" sourceRef="s" targetRef="t" />'
        assert told(body) == [("t", 4, f"Elements of the type “{name}” are not supported.")]

    @pytest.mark.parametrize("name", ["link", "unheard"])
    def test_events_that_cannot_run_are_refused_once(self, name: str) -> None:
        body = f'<intermediateThrowEvent id="t">\n<{name}EventDefinition /></intermediateThrowEvent>'
        assert told(body) == [("t", 5, f"Events of the kind “{name}” are not supported.")]

    def test_an_event_of_two_definitions_is_refused(self) -> None:
        body = f'<intermediateCatchEvent id="t">{TIMER}{TIMER}</intermediateCatchEvent>'
        assert told(body) == [("t", 4, "Events with several event definitions are not supported.")]


class TestIds:
    def test_two_of_the_same_are_refused(self) -> None:
        assert told('<task id="t" />\n<task id="t" />') == [("t", 5, "The id “t” is used twice.")]

    def test_none_is_refused(self) -> None:
        assert told("<task />") == [("", 4, "A task has no id.")]

    def test_more_than_200_characters_are_refused(self) -> None:
        long = "x" * 201
        assert told(f'<task id="{long}" />') == [(long[:200], 4, "The id has more than 200 characters.")]
        assert told(f'<task id="t" name="{long}" />') == [("t", 4, "The name has more than 200 characters.")]

    def test_200_characters_are_not(self) -> None:
        assert told(f'<task id="{"x" * 200}" name="{"y" * 200}" />') == []


class TestReferences:
    @pytest.mark.parametrize(
        ("definition", "expected"),
        [
            ('<messageEventDefinition messageRef="nobody" />', "There is no message “nobody”."),
            ('<messageEventDefinition messageRef="g" />', "There is no message “g”."),
            ("<messageEventDefinition />", "No message is referred to."),
            ('<signalEventDefinition signalRef="m" />', "There is no signal “m”."),
            ("<signalEventDefinition />", "No signal is referred to."),
            ("<eventDefinitionRef />", "eventDefinitionRef is empty."),
            ("<eventDefinitionRef>m</eventDefinitionRef>", "There is no event definition “m”."),
            ("<conditionalEventDefinition />", "A conditional event needs a condition."),
        ],
    )
    def test_what_an_event_needs_must_be_there(self, definition: str, expected: str) -> None:
        body = f'<intermediateCatchEvent id="t">\n{definition}</intermediateCatchEvent>'
        assert ("t", 5, expected) in told(body)

    def test_an_error_is_written_to_what_can_be_a_variable(self) -> None:
        body = (
            '<task id="t" /><boundaryEvent id="b" attachedToRef="t">\n'
            '<errorEventDefinition xmlns:postern="https://postern.dev/bpmn/1.0" postern:codeVariable="a b" />'
            "</boundaryEvent>"
        )
        assert told(body) == [("b", 5, "“a b” cannot be the name of a variable.")]

    def test_a_shared_event_definition_is_found(self) -> None:
        body = '<intermediateCatchEvent id="t"><eventDefinitionRef>d</eventDefinitionRef></intermediateCatchEvent>'
        assert told(body, '<signal id="g" name="x" /><signalEventDefinition id="d" signalRef="g" />') == []

    def test_a_message_needs_a_name_of_at_most_200_characters(self) -> None:
        body = '<receiveTask id="t" messageRef="m" />'
        assert told(body, '<message id="m" name=" " />') == [("m", 1, "The message has no name.")]
        expected = [("m", 1, "The name has more than 200 characters.")]
        assert told(body, f'<message id="m" name="{"x" * 201}" />') == expected

    def test_a_receive_task_needs_a_message(self) -> None:
        assert told('<receiveTask id="t" />') == [("t", 4, "No message is referred to.")]

    @pytest.mark.parametrize("called", ["", "${key}", "=key", "a b", "x" * 201])
    def test_a_call_needs_the_key_of_a_definition(self, called: str) -> None:
        assert [line for _, line, _ in told(f'<callActivity id="t" calledElement="{called}" />')] == [4]


class TestFlows:
    @pytest.mark.parametrize(
        ("attributes", "expected"),
        [
            ('sourceRef="s" targetRef="x"', "targetRef “x” is not an element of the process."),
            ('sourceRef="x" targetRef="t"', "sourceRef “x” is not an element of the process."),
            ('sourceRef="s"', "A sequence flow has no targetRef."),
            ('sourceRef="s" targetRef="i"', "A sequence flow cannot cross the border of a sub-process."),
            ('sourceRef="i" targetRef="t"', "A sequence flow cannot cross the border of a sub-process."),
        ],
    )
    def test_both_ends_lie_in_one_scope(self, attributes: str, expected: str) -> None:
        inner = '<subProcess id="n"><startEvent id="i" /></subProcess><task id="t" />'
        assert told(f'{inner}\n<sequenceFlow id="f" {attributes} />') == [("f", 5, expected)]

    @pytest.mark.parametrize(
        ("node", "ends", "expected"),
        [
            (
                '<task id="t" />',
                'sourceRef="t" targetRef="s"',
                ("s", 3, "A start event has no incoming sequence flow."),
            ),
            (
                '<endEvent id="t" />',
                'sourceRef="t" targetRef="u"',
                ("t", 4, "An end event has no outgoing sequence flow."),
            ),
            (
                f'<boundaryEvent id="t" attachedToRef="u">{TIMER}</boundaryEvent>',
                'sourceRef="s" targetRef="t"',
                ("t", 4, "A boundary event has no incoming sequence flow."),
            ),
            (
                '<task id="t" isForCompensation="true" />',
                'sourceRef="s" targetRef="t"',
                ("t", 4, "An activity for compensation has no incoming sequence flow."),
            ),
        ],
    )
    def test_some_only_come_or_go(self, node: str, ends: str, expected: tuple[str, int, str]) -> None:
        assert told(f'{node}\n<task id="u" /><sequenceFlow id="f" {ends} />') == [expected]

    def test_a_default_leaves_its_element(self) -> None:
        assert told('<task id="t" default="f" />') == [("t", 4, "The default flow “f” does not leave this element.")]


class TestGateways:
    def flows(self, *conditions: str) -> str:
        flows = (
            f'\n<sequenceFlow id="f{number}" sourceRef="t" targetRef="u">{condition}</sequenceFlow>'
            for number, condition in enumerate(conditions)
        )
        return '<task id="u" />' + "".join(flows)

    def test_an_exclusive_one_with_several_ways_needs_conditions(self) -> None:
        body = '<exclusiveGateway id="t" />' + self.flows("<conditionExpression>a</conditionExpression>", "", "")
        expected = "It leaves an exclusive gateway: it needs a condition, or is the default."
        assert told(body) == [("f1", 6, expected), ("f2", 7, expected)]

    def test_the_default_and_a_single_way_need_none(self) -> None:
        condition = "<conditionExpression>a</conditionExpression>"
        assert told('<exclusiveGateway id="t" default="f1" />' + self.flows(condition, "")) == []
        assert told('<exclusiveGateway id="t" />' + self.flows("")) == []

    @pytest.mark.parametrize("name", ["parallel", "eventBased"])
    def test_those_that_take_every_way_have_no_conditions(self, name: str) -> None:
        body = f'<{name}Gateway id="t" />' + self.flows("<conditionExpression>a</conditionExpression>")
        assert ("f0", 5, "has no condition.") in [(key, line, text[-17:]) for key, line, text in told(body)]

    def test_after_an_event_based_one_something_waits(self) -> None:
        body = '<eventBasedGateway id="t" />' + self.flows("")
        message = "After an event-based gateway come intermediate catch events and receive tasks alone."
        assert told(body) == [("u", 4, message)]

    def test_an_event_based_one_leads_somewhere(self) -> None:
        assert told('<eventBasedGateway id="t" />') == [
            ("t", 4, "An event-based gateway needs an outgoing sequence flow.")
        ]

    def test_none_begins_a_process(self) -> None:
        body = '<eventBasedGateway id="t" instantiate="true" /><receiveTask id="u" instantiate="true" messageRef="m" />'
        assert [(key, text) for key, _, text in told(body) if "begin" in text] == [
            ("t", "Only start events begin a process."),
            ("u", "Only start events begin a process."),
        ]

    def test_a_condition_that_is_no_expression_is_named_with_the_position(self) -> None:
        body = '<exclusiveGateway id="t" />' + self.flows("<conditionExpression>${a +}</conditionExpression>")
        [(element, line, message)] = told(body)
        assert (element, line, message[:38]) == ("f0", 5, "The expression “${a +}” cannot be read")
        assert message.endswith("(character 6)")


class TestLoops:
    @pytest.mark.parametrize(
        "loop",
        [
            f"<{MANY} />",
            f"<{MANY}><loopDataInputRef>a b</loopDataInputRef></{MANY}>",
            f"<{MANY}><loopCardinality>3 +</loopCardinality></{MANY}>",
            "<standardLoopCharacteristics />",
            '<standardLoopCharacteristics loopMaximum="0" />',
            '<standardLoopCharacteristics loopMaximum="many" />',
            '<standardLoopCharacteristics loopMaximum="1000001" />',
        ],
    )
    def test_without_an_end_are_refused(self, loop: str) -> None:
        assert [line for _, line, _ in told(f'<task id="t">\n{loop}</task>')] == [5]


class TestCompensation:
    HOST = '<task id="u" /><boundaryEvent id="t" attachedToRef="u"><compensateEventDefinition /></boundaryEvent>'

    @pytest.mark.parametrize(
        "rest",
        [
            "",
            '<task id="h" /><association sourceRef="t" targetRef="h" />',
            '<task id="h" isForCompensation="true" /><association sourceRef="u" targetRef="h" />',
            '<inclusiveGateway id="h" isForCompensation="true" /><association sourceRef="t" targetRef="h" />',
        ],
    )
    def test_needs_an_associated_activity_that_undoes(self, rest: str) -> None:
        message = "A compensation event is associated with one activity that is for compensation."
        assert told(self.HOST + rest) == [("t", 4, message)]

    def test_the_association_may_point_either_way(self) -> None:
        assert (
            told(self.HOST + '<task id="h" isForCompensation="true" /><association sourceRef="h" targetRef="t" />')
            == []
        )

    def test_goes_nowhere_by_a_flow(self) -> None:
        rest = '<task id="h" isForCompensation="true" /><association sourceRef="t" targetRef="h" />'
        flow = '<sequenceFlow id="f" sourceRef="t" targetRef="u" />'
        assert told(self.HOST + rest + flow) == [
            ("t", 4, "A compensation boundary event has no outgoing sequence flow.")
        ]

    @pytest.mark.parametrize("activity", ["nobody", "s"])
    def test_of_one_activity_needs_that_activity(self, activity: str) -> None:
        body = f'<endEvent id="t"><compensateEventDefinition activityRef="{activity}" /></endEvent>'
        assert told(body) == [("t", 4, "activityRef is not an activity of the process.")]


class TestProcesses:
    def file(self, body: str) -> bytes:
        return f'<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL">{body}</definitions>'.encode()

    def test_the_executable_one_of_several_is_read(self) -> None:
        one = '<process id="a" isExecutable="true"><startEvent id="s" /></process>'
        other = '<process id="b"><startEvent id="s" /><complexGateway id="c" /></process>'
        assert parse_bpmn(self.file(other + one)).key == "a"

    @pytest.mark.parametrize("mark", ['isExecutable="true"', ""])
    def test_several_that_could_be_run_are_named(self, mark: str) -> None:
        processes = "\n".join(f'<process id="{key}" {mark}><startEvent id="s" /></process>' for key in "ab")
        problems = find_problems(self.file(processes))
        assert [(problem.element, problem.line) for problem in problems] == [("a", 1), ("b", 2)]

    def test_a_file_without_one_is_refused(self) -> None:
        assert [problem.message for problem in find_problems(self.file(""))] == ["The file has no process."]

    @pytest.mark.parametrize("key", ["a/b", "a b", "x" * 201, "?"])
    def test_a_key_that_no_address_could_hold_is_refused(self, key: str) -> None:
        source = self.file(f'<process id="{key}"><startEvent id="s" /></process>')
        assert find_problems(source)[0].element == key[:200]

    def test_a_process_without_an_id_is_refused(self) -> None:
        source = self.file('<process><startEvent id="s" /></process>')
        assert [problem.message for problem in find_problems(source)] == ["A process has no id."]
