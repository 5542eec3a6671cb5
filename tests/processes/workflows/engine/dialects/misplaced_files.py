"""Processes with elements where the standard has no place for them, or written as only another engine reads them.

Each with its script, as in `foreign_files`, and with what the report says is only drawn.
"""

from tests.processes.workflows.engine.dialects.foreign_elements import ForeignFile, chain, choice, extended, flow

_BEGIN = '<startEvent id="begin"/>'
_MINUTE = "<timerEventDefinition><timeDuration>PT1M</timeDuration></timerEventDefinition>"


def _timer(kind: str, text: str) -> str:
    return chain(
        f'<intermediateCatchEvent id="c"><timerEventDefinition><{kind}>{text}</{kind}></timerEventDefinition>'
        "</intermediateCatchEvent>"
    )


MISPLACED: dict[str, ForeignFile] = {
    "a choreography task in the flow is passed through": ForeignFile(
        f'{_BEGIN}<choreographyTask id="x"><participantRef>a</participantRef></choreographyTask><task id="t"/>'
        + flow("begin", "x")
        + flow("x", "t"),
        "start -> begin x t == completed",
    ),
    "a data store in a process": ForeignFile(
        f'{_BEGIN}<dataStore id="d"/><task id="t"/>' + flow("begin", "t"), "start -> begin t == completed"
    ),
    "a start of a type that only event sub-processes have": ForeignFile(
        '<startEvent id="begin"><errorEventDefinition/></startEvent><task id="t"/>' + flow("begin", "t"),
        "start -> begin t == completed",
    ),
    "ends and throws of types that wait": ForeignFile(
        f'{_BEGIN}<intermediateThrowEvent id="t">{_MINUTE}</intermediateThrowEvent>'
        f'<endEvent id="done">{_MINUTE}</endEvent>' + flow("begin", "t") + flow("t", "done"),
        "start -> begin t done == completed",
    ),
    "a catch of what is only thrown": ForeignFile(
        chain('<intermediateCatchEvent id="t"><terminateEventDefinition/></intermediateCatchEvent>'),
        "start -> begin t done == completed",
    ),
    "a boundary event of no type it could have": ForeignFile(
        chain('<userTask id="t"/>')
        + '<boundaryEvent id="b" attachedToRef="t"><terminateEventDefinition/></boundaryEvent><task id="x"/>'
        + flow("b", "x"),
        "start -> begin .. t\ncomplete t -> t done == completed",
    ),
    "an event definition that is not there": ForeignFile(
        f'{_BEGIN}<endEvent id="done"><eventDefinitionRef>none</eventDefinitionRef></endEvent>' + flow("begin", "done"),
        "start -> begin done == completed",
    ),
    "a boundary event of no activity": ForeignFile(
        chain('<task id="t"/>') + f'<boundaryEvent id="b">{_MINUTE}</boundaryEvent><task id="x"/>' + flow("b", "x"),
        "start -> begin t done == completed",
    ),
    "a boundary event of an event sub-process": ForeignFile(
        chain('<userTask id="t"/>')
        + '<subProcess id="e" triggeredByEvent="true"><startEvent id="s"><signalEventDefinition signalRef="g"/>'
        '</startEvent></subProcess><boundaryEvent id="b" attachedToRef="e"><errorEventDefinition/></boundaryEvent>'
        '<task id="x"/>' + flow("b", "x"),
        "start -> begin .. s t\nsignal go -> -t s e == completed",
        roots='<signal id="g" name="go"/>',
    ),
    "a boundary event outside of the scope of its activity": ForeignFile(
        f'{_BEGIN}<subProcess id="in"><startEvent id="s"/><userTask id="t"/><task id="x"/>'
        + flow("s", "t")
        + f'</subProcess><boundaryEvent id="b" attachedToRef="t">{_MINUTE}</boundaryEvent>'
        + flow("begin", "in")
        + flow("b", "x"),
        "start -> begin s .. b t\ntimer b@2030-01-01T00:01 -> -t b x in == completed",
    ),
    "an event sub-process that nothing triggers": ForeignFile(
        f'{_BEGIN}<subProcess id="e" triggeredByEvent="true"><startEvent id="s"/><task id="x"/>'
        + flow("s", "x")
        + "</subProcess>"
        + flow("begin", "e"),
        "start -> begin == completed",
    ),
    "an event gateway with nothing behind it": ForeignFile(
        f'{_BEGIN}<eventBasedGateway id="g"/>' + flow("begin", "g"), "start -> begin g == completed"
    ),
    "a complex gateway with nothing behind it": ForeignFile(
        f'{_BEGIN}<complexGateway id="g"/>' + flow("begin", "g"), "start -> begin g == completed"
    ),
    "a flow stands for the association of a compensation": ForeignFile(
        f'{_BEGIN}<task id="t"/><boundaryEvent id="b" attachedToRef="t"><compensateEventDefinition/></boundaryEvent>'
        '<userTask id="undo"/><endEvent id="done"><compensateEventDefinition/></endEvent>'
        + flow("begin", "t")
        + flow("b", "undo")
        + flow("t", "done"),
        "start -> begin t .. undo\ncomplete undo -> undo done == completed",
    ),
    "flows at what undoes an activity": ForeignFile(
        f'{_BEGIN}<task id="t"/><boundaryEvent id="b" attachedToRef="t"><compensateEventDefinition/></boundaryEvent>'
        '<userTask id="undo" isForCompensation="true"/><association sourceRef="b" targetRef="undo"/><task id="x"/>'
        + flow("begin", "t")
        + flow("t", "undo")
        + flow("undo", "x"),
        "start -> begin t == completed",
    ),
    "of two mappings to one variable the later counts": ForeignFile(
        chain(
            '<callActivity id="t" calledElement="callee">'
            + extended('<camunda:in source="a" target="x"/><camunda:in source="b" target="x"/>')
            + "</callActivity>"
        ),
        "start a=1 b=2 -> begin ask .. look",
    ),
    "a loop of no number": ForeignFile(
        chain('<userTask id="t"><standardLoopCharacteristics loopMaximum="0"/></userTask>'),
        "start -> begin .. t\ncomplete t -> t done == completed",
    ),
    "a bean is asked with the execution": ForeignFile(
        choice("${bean.check(execution)}"),
        "start -> begin way .. way~asks\ncomplete way~asks answer_way_yes_conditionExpression=true"
        " -> way~asks way~ways yes == completed",
    ),
    "an expression of a class": ForeignFile(choice("${a instanceof b}"), "start -> begin way .. way~asks"),
    "a name with a dollar": ForeignFile(choice("${$a == 1}"), "start -> begin way .. way~asks"),
    "a number of a type of Java": ForeignFile(choice("${a == 1L}"), "start a=1 -> begin way yes == completed"),
    "FEEL of which there is more": ForeignFile(
        choice("=some x in a satisfies x &gt; 1").replace("<task", "<task zeebe:modelerTemplate='x'", 1),
        "start -> begin way .. way~asks",
    ),
    "a static input of Zeebe is a text": ForeignFile(
        chain(
            '<serviceTask id="t">'
            + extended(
                '<zeebe:taskDefinition type="call"/><zeebe:ioMapping><zeebe:input source="GET" target="method"/>'
                '<zeebe:input source="=ask(text: &quot;x&quot;)" target="url"/>'
                '<zeebe:output source="=method" target="used"/></zeebe:ioMapping>'
            )
            + "</serviceTask>"
        ),
        'start -> begin .. t\ncomplete t -> t done == completed with used="GET"',
    ),
    "a cycle of an expression": ForeignFile(
        chain('<userTask id="t"/>')
        + '<boundaryEvent id="b" attachedToRef="t" cancelActivity="false"><timerEventDefinition><timeCycle>'
        "R3/${pause}</timeCycle></timerEventDefinition></boundaryEvent>",
        'start pause="PT1M" -> begin .. b t\ntimer b@2030-01-01T00:01 -> b .. b t',
    ),
    "a time with the name of its zone": ForeignFile(
        _timer("timeDate", "2030-01-01T10:00:00+02:00[Europe/Berlin]"),
        "start -> begin .. c\ntimer c@2030-01-01T08:00 -> c done == completed",
    ),
    "a macro of cron": ForeignFile(
        _timer("timeCycle", "@daily"), "start -> begin .. c\ntimer c@2030-01-02T00:00 -> c done == completed"
    ),
    "a variable that no error can be written to": ForeignFile(
        chain('<serviceTask id="t"/>')
        + '<boundaryEvent id="b" attachedToRef="t"><errorEventDefinition camunda:errorCodeVariable="a b"/>'
        "</boundaryEvent>",
        'start -> begin .. t\nfail t code="5" -> -t b == completed',
    ),
}
DRAWN = {
    "a choreography task in the flow is passed through": ("x", "choreographyTask"),
    "a data store in a process": ("d", "dataStore"),
    "a start of a type that only event sub-processes have": ("begin", "errorEventDefinition"),
    "a boundary event of no type it could have": ("b", "boundaryEvent"),
    "an event definition that is not there": ("done", "eventDefinitionRef"),
    "a boundary event of no activity": ("b", "boundaryEvent"),
    "a boundary event of an event sub-process": ("b", "boundaryEvent"),
    "an event sub-process that nothing triggers": ("e", "subProcess"),
    "an event gateway with nothing behind it": ("g", "eventBasedGateway"),
    "flows at what undoes an activity": ("t-undo", "sequenceFlow"),
    "a loop of no number": ("t", "loopMaximum 0"),
    "a static input of Zeebe is a text": ("t", "input url"),
    "a variable that no error can be written to": ("b", "camunda:errorCodeVariable a b"),
}
"""What is listed as only drawn, by the name of the file."""
