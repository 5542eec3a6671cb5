"""Events that cannot run, each with the element and the line; in a wrapped body the first line is 4."""

import pytest

from processes.workflows.engine.bpmn.parser import parse_bpmn
from tests.processes.workflows.engine.bpmn.source_files import find_problems, wrap
from tests.processes.workflows.engine.bpmn.validation.told_problems import MESSAGE, TIMER, told


class TestStarts:
    def process(self, body: str) -> list[tuple[str, int, str]]:
        source = wrap(body, MESSAGE).replace(b'<startEvent id="s" />', b"")
        return [(problem.element, problem.line, problem.message) for problem in find_problems(source)]

    def test_a_process_has_one(self) -> None:
        assert self.process('<task id="t" />') == [("p", 2, "The process has no start event.")]

    def test_a_process_has_one_of_no_type_at_most(self) -> None:
        body = '<startEvent id="a" />\n<startEvent id="b" />'
        assert self.process(body) == [("b", 5, "The process already has a start event without a trigger.")]

    @pytest.mark.parametrize("kind", ["message", "signal"])
    def test_a_process_that_no_event_can_start_is_refused(self, kind: str) -> None:
        start = f'<startEvent id="a"><{kind}EventDefinition {kind}Ref="x" /></startEvent>'
        source = wrap(start, f'<{kind} id="x" name="{"n" * 74}" />').replace(b'<startEvent id="s" />', b"")
        [problem] = find_problems(source)
        message = "Nothing could start the process: the name of its event has more than 73 characters."
        assert (problem.element, problem.message) == ("a", message)
        parse_bpmn(source.replace(b"n" * 74, b"n" * 73))
        parse_bpmn(source.replace(b"n" * 74, b"custom." + b"n" * 73))
        # Whoever can start it otherwise may have such a name beside it.
        parse_bpmn(wrap(start, f'<{kind} id="x" name="{"n" * 74}" />'))

    @pytest.mark.parametrize("name", ["error", "terminate", "compensate"])
    def test_of_a_process_are_of_a_type_that_begins(self, name: str) -> None:
        body = f'<startEvent id="a"><{name}EventDefinition /></startEvent>'
        [(element, _, message)] = self.process(body)
        assert (element, message[:38]) == ("a", "The start event of a process cannot be")

    @pytest.mark.parametrize("starts", ["", '<startEvent id="a" /><startEvent id="b" />'])
    def test_of_a_sub_process_are_one(self, starts: str) -> None:
        body = f'<subProcess id="t">{starts}</subProcess>'
        assert told(body) == [("t", 4, "A sub-process has exactly one start event.")]

    def test_of_a_sub_process_have_no_type(self) -> None:
        body = f'<subProcess id="t">\n<startEvent id="a">{TIMER}</startEvent></subProcess>'
        assert told(body) == [("a", 5, "The start event of a sub-process cannot be of the type timer: only none.")]

    def test_of_an_event_sub_process_have_a_type(self) -> None:
        body = '<subProcess id="t" triggeredByEvent="true">\n<startEvent id="a" /></subProcess>'
        [(element, line, message)] = told(body)
        assert (element, line) == ("a", 5)
        assert message.endswith("only message, signal, timer, condition, error, escalation, compensation.")

    def test_an_event_sub_process_has_one_and_no_flows(self) -> None:
        body = '<subProcess id="t" triggeredByEvent="true" /><sequenceFlow id="f" sourceRef="s" targetRef="t" />'
        assert [message for _, _, message in told(body)] == [
            "An event sub-process has a start event.",
            "An event sub-process has no incoming sequence flow.",
        ]


class TestEvents:
    @pytest.mark.parametrize(
        ("event", "definition"),
        [
            ("intermediateCatchEvent", ""),
            ("intermediateCatchEvent", "<errorEventDefinition />"),
            ("intermediateThrowEvent", TIMER),
            ("intermediateThrowEvent", '<errorEventDefinition errorRef="e" />'),
            ("endEvent", TIMER),
            ('boundaryEvent attachedToRef="u"', ""),
            ('boundaryEvent attachedToRef="u"', "<terminateEventDefinition />"),
        ],
    )
    def test_of_the_wrong_type_for_their_place_are_refused(self, event: str, definition: str) -> None:
        name, _, attributes = event.partition(" ")
        body = f'<{name} id="t" {attributes}>{definition}</{name}><task id="u" />'
        [(element, line, message)] = told(body)
        assert (element, line) == ("t", 4)
        assert "cannot be of the type" in message

    def test_an_error_that_is_thrown_has_a_code(self) -> None:
        expected = [("t", 4, "An error end event needs an error with a code.")]
        assert told('<endEvent id="t"><errorEventDefinition /></endEvent>') == expected

    def test_an_error_always_interrupts(self) -> None:
        boundary = (
            '<boundaryEvent id="t" attachedToRef="u" cancelActivity="false"><errorEventDefinition /></boundaryEvent>'
        )
        expected = [("t", 4, "An error always interrupts: the event cannot be non-interrupting.")]
        assert told(f'{boundary}<task id="u" />') == expected

    @pytest.mark.parametrize("host", ["", "x", "s", "g"])
    def test_a_boundary_event_sits_on_an_activity(self, host: str) -> None:
        body = f'<boundaryEvent id="t" attachedToRef="{host}">{TIMER}</boundaryEvent><parallelGateway id="g" />'
        assert told(body) == [("t", 4, "A boundary event is attached to an activity.")]

    def test_a_boundary_event_lies_beside_its_activity(self) -> None:
        inner = '<subProcess id="n"><startEvent id="i" /><task id="u" /></subProcess>'
        body = f'<boundaryEvent id="t" attachedToRef="u">{TIMER}</boundaryEvent>{inner}'
        assert told(body) == [("t", 4, "A boundary event lies in the same scope as its activity.")]


class TestTimers:
    @pytest.mark.parametrize(
        "timer",
        [
            "<timeDuration>PT5X</timeDuration>",
            "<timeDuration>-PT5M</timeDuration>",
            "<timeDuration>P9999Y</timeDuration>",
            "<timeCycle>R/P9999Y</timeCycle>",
            "<timeDuration>R3/PT5M</timeDuration>",
            "<timeDate>2030-02-30</timeDate>",
            "<timeCycle>R0/PT5M</timeCycle>",
            "<timeCycle>R/PT0S</timeCycle>",
            "<timeCycle>PT5M</timeCycle>",
            "<timeCycle>0 0/5 * * *  * * *</timeCycle>",
            "<timeCycle>61 0 * * *</timeCycle>",
            "<timeDuration>${</timeDuration>",
            "",
            "<timeDuration />",
            "<timeDuration>PT1H</timeDuration><timeDate>2030-01-01</timeDate>",
        ],
    )
    def test_what_never_fires_is_refused(self, timer: str) -> None:
        definition = f"<timerEventDefinition>{timer}</timerEventDefinition>"
        body = f'<intermediateCatchEvent id="t">{definition}</intermediateCatchEvent>'
        assert [(element, line) for element, line, _ in told(body)] == [("t", 4)]
