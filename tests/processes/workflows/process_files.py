"""Small processes for the tests of the store."""

from itertools import pairwise

_OPEN = (
    '<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL" xmlns:postern="https://postern.dev/bpmn/1.0"'
    ' targetNamespace="http://example.org/">'
)


def process(key: str, *elements: str, before: str = "") -> bytes:
    """A process of these elements, with what stands before it: messages, signals, errors."""
    inner = "".join(elements)
    return (
        f'{_OPEN}{before}<process id="{key}" name="{key}" isExecutable="true">{inner}</process></definitions>'.encode()
    )


def flow(source: str, target: str, condition: str = "") -> str:
    inner = f"<conditionExpression>{condition}</conditionExpression>" if condition else ""
    return f'<sequenceFlow id="{source}_{target}" sourceRef="{source}" targetRef="{target}">{inner}</sequenceFlow>'


def chain(key: str, *steps: tuple[str, str], before: str = "", start: str = '<startEvent id="begin"/>') -> bytes:
    """A process of one step after the other: each is its id and its element."""
    ids = ["begin", *(name for name, _ in steps), "end"]
    flows = [flow(source, target) for source, target in pairwise(ids)]
    return process(key, start, *(text for _, text in steps), '<endEvent id="end"/>', *flows, before=before)


def user(name: str) -> tuple[str, str]:
    return name, f'<userTask id="{name}" name="{name.title()}"/>'


def script(name: str, variable: str, expression: str) -> tuple[str, str]:
    return name, (
        f'<scriptTask id="{name}"><extensionElements><postern:assign name="{variable}" expression="{expression}"/>'
        "</extensionElements></scriptTask>"
    )


def service(name: str, handler: str, topic: str = "", **inputs: str) -> tuple[str, str]:
    """A service task; the inputs are expressions."""
    topic = f' postern:topic="{topic}"' if topic else ""
    return name, f'<serviceTask id="{name}" postern:handler="{handler}"{topic}>{_given(inputs)}</serviceTask>'


def _given(inputs: dict[str, str]) -> str:
    given = "".join(f'<postern:input name="{key}">{value}</postern:input>' for key, value in inputs.items())
    return f"<extensionElements>{given}</extensionElements>"


def timer(name: str, duration: str) -> tuple[str, str]:
    return name, (
        f'<intermediateCatchEvent id="{name}"><timerEventDefinition><timeDuration>{duration}</timeDuration>'
        "</timerEventDefinition></intermediateCatchEvent>"
    )


def message(name: str, *, ref: str = "m1", attributes: str = "") -> tuple[str, str]:
    return name, (
        f'<intermediateCatchEvent id="{name}" {attributes}><messageEventDefinition messageRef="{ref}"/>'
        "</intermediateCatchEvent>"
    )


def signal(name: str, *, throws: bool = False, **inputs: str) -> tuple[str, str]:
    kind = "Throw" if throws else "Catch"
    return name, (
        f'<intermediate{kind}Event id="{name}">{_given(inputs)}<signalEventDefinition signalRef="s1"/>'
        f"</intermediate{kind}Event>"
    )


def sending(name: str, *, ref: str = "m1", **inputs: str) -> tuple[str, str]:
    """A send task that throws a message."""
    return name, f'<sendTask id="{name}" messageRef="{ref}">{_given(inputs)}</sendTask>'


def named(message_name: str, ref: str = "m1") -> str:
    return f'<message id="{ref}" name="{message_name}"/>'


def signalled(name: str) -> str:
    return f'<signal id="s1" name="{name}"/>'


def started_by(ref: str = "m1", attributes: str = "") -> str:
    return f'<startEvent id="begin" {attributes}><messageEventDefinition messageRef="{ref}"/></startEvent>'


def started_at(timer_text: str) -> str:
    return f'<startEvent id="begin"><timerEventDefinition>{timer_text}</timerEventDefinition></startEvent>'
