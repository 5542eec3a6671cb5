"""Processes that other engines take although something in them is said in words, or stands where nothing could be.

Each with its script, as in `foreign_files`, and with what the report says of it.
"""

from tests.processes.workflows.engine.dialects.foreign_elements import ForeignFile, chain, choice, flow

_BEGIN = '<startEvent id="begin"/>'
_MESSAGE = '<messageEventDefinition messageRef="m"/>'
_MINUTE = "<timerEventDefinition><timeDuration>PT1M</timeDuration></timerEventDefinition>"
_ASKED = '<message id="m" name="asked"/><signal id="s" name="rung"/>'


def _behind_gateway(*ways: str, roots: str = "") -> str:
    """Write an event-based gateway; each way is an element, and a task behind the first."""
    ids = [way.split('id="', 1)[1].split('"', 1)[0] for way in ways]
    flows = "".join(flow("g", each) for each in ids)
    inner = f'{_BEGIN}<eventBasedGateway id="g"/>{"".join(ways)}<task id="x"/>'
    return inner + flow("begin", "g") + flows + flow(ids[0], "x")


ODD: dict[str, ForeignFile] = {
    "an event of no type behind a gateway": ForeignFile(
        _behind_gateway(
            '<intermediateCatchEvent id="c" name="Answer"/>',
            f'<intermediateCatchEvent id="late">{_MINUTE}</intermediateCatchEvent>',
        ),
        "start -> begin .. c late\nmessage Answer -> g c x == completed",
    ),
    "several definitions behind a gateway": ForeignFile(
        _behind_gateway(
            f'<intermediateCatchEvent id="c">{_MESSAGE}<signalEventDefinition signalRef="s"/></intermediateCatchEvent>',
            f'<intermediateCatchEvent id="late">{_MINUTE}</intermediateCatchEvent>',
        ),
        "start -> begin .. c~1 c~2 late\nmessage asked -> g c~1 c~all x == completed",
        roots=_ASKED,
    ),
    "tasks behind a gateway": ForeignFile(
        _behind_gateway('<userTask id="yes" name="Accept"/>', '<userTask id="no" name="Refuse"/>'),
        "start -> begin .. no~waits yes~waits\nmessage Accept -> g yes~waits .. yes\n"
        "complete yes -> yes x == completed",
    ),
    "a link behind a gateway": ForeignFile(
        _behind_gateway(
            '<intermediateThrowEvent id="c" name="on"><linkEventDefinition name="l"/></intermediateThrowEvent>',
            f'<intermediateCatchEvent id="late">{_MINUTE}</intermediateCatchEvent>',
        ),
        "start -> begin .. c late\nmessage on -> g c x == completed",
    ),
    "a condition in words": ForeignFile(
        choice("the customer is rich"),
        "start -> begin way .. way~asks\n"
        "complete way~asks answer_way_yes_conditionExpression=true -> way~asks way~ways yes == completed",
    ),
    "a slice of Python": ForeignFile(choice("names[1:2]"), "start -> begin way .. way~asks"),
    "a name in backquotes": ForeignFile(choice("=`a b` = 1"), "start -> begin way .. way~asks"),
    "an event of a variable": ForeignFile(
        chain(
            '<intermediateCatchEvent id="c"><extensionElements><flowable:variableListenerEventDefinition'
            ' variableName="paid" variableChangeType="update"/></extensionElements></intermediateCatchEvent>'
        ),
        "start -> begin .. c\nmessage paid -> c done == completed",
    ),
    "an event of a variable begins a sub-process": ForeignFile(
        chain('<userTask id="t"/>') + '<subProcess id="e" triggeredByEvent="true"><startEvent id="s">'
        "<extensionElements><flowable:variableListenerEventDefinition variableName='paid'/></extensionElements>"
        "</startEvent></subProcess>",
        "start -> begin .. s t\nmessage paid -> -t s e == completed",
    ),
    "a timer in words": ForeignFile(
        chain(
            '<intermediateCatchEvent id="c" name="Friday"><timerEventDefinition>'
            "<timeDate>next Friday at noon</timeDate></timerEventDefinition></intermediateCatchEvent>"
        ),
        "start -> begin .. c\nmessage Friday -> c done == completed",
    ),
    "a cycle in milliseconds": ForeignFile(
        chain('<userTask id="t"/>')
        + '<boundaryEvent id="b" attachedToRef="t" cancelActivity="false"><timerEventDefinition>'
        "<timeCycle>500###60000</timeCycle></timerEventDefinition></boundaryEvent>",
        "start -> begin .. b t\ntimer b@2030-01-01T00:01 -> b .. b t",
    ),
    "a flow by the id of its target": ForeignFile(
        f'{_BEGIN}<task id="t"/><sequenceFlow id="t" sourceRef="begin" targetRef="t"/>', "start -> begin t == completed"
    ),
    "more rounds than there can be": ForeignFile(
        chain('<task id="t"><standardLoopCharacteristics loopMaximum="99999999999"/></task>'),
        "start -> begin t done == completed",
    ),
    "work that names its result": ForeignFile(
        chain('<serviceTask id="t" camunda:expression="${bean.work()}" camunda:resultVariable="r"/>'),
        "start -> begin .. t",
    ),
    "a round of no name": ForeignFile(
        chain(
            '<userTask id="t"><multiInstanceLoopCharacteristics camunda:collection="list"'
            ' camunda:elementVariable="one of them"/></userTask>'
        ),
        "start list=[1] -> begin .. t\ncomplete t -> t done == completed",
    ),
}
ODD_DRAWN = {
    "more rounds than there can be": ("t", "loopMaximum 99999999999"),
    "work that names its result": ("t", "camunda:resultVariable r"),
    "a round of no name": ("t", "camunda:elementVariable one of them"),
}
ODD_TRANSLATED = {
    "an event of no type behind a gateway": ("c", "waits for the message “Answer”"),
    "several definitions behind a gateway": ("g", "waits for c~1, c~2"),
    "tasks behind a gateway": ("yes", "waits for the message “Accept”"),
    "a condition in words": (
        "way-yes",
        "answer_way_yes_conditionExpression, answered by external work, topic way~asks",
    ),
    "a timer in words": ("c", "waits for the message “Friday”"),
    "a flow by the id of its target": ("flow~begin~t", "flow~begin~t"),
}
"""What is listed as only drawn, and as translated, by the name of the file."""
