"""Files that want to run code, read other files, or take all memory and time. Run by itself it reads them all."""

import resource
import time
from collections.abc import Callable

from processes.workflows.engine.parser import parse_definition
from processes.workflows.engine.problems import InvalidDefinition

BPMN = 'xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL" xmlns:p="https://postern.dev/bpmn/1.0"'
LAUGHS = "".join(f'<!ENTITY l{number} "{f"&l{number - 1};" * 10}">' for number in range(1, 10))
TRUSTED = f'<definitions {BPMN}><process id="p"><startEvent id="s"/></process></definitions>'


def around(body: str) -> bytes:
    return f'<definitions {BPMN}><process id="p"><startEvent id="s"/>{body}</process></definitions>'.encode()


def repeat(unit: str, *, until: int = 990_000) -> str:
    """Fill a file up to what is read at all."""
    return unit * (until // len(unit.encode()))


def number(unit: str, *, until: int = 400_000) -> str:
    """The same with a number in each, well past every limit on how many there may be."""
    return "".join(unit % count for count in range(until // (len(unit.encode()) + 6)))


MESSAGE = "<message id='m%d'/>"
FILES: dict[str, Callable[[], bytes]] = {
    "billion laughs": lambda: f'<!DOCTYPE d [<!ENTITY l0 "ha">{LAUGHS}]><d>&l9;</d>'.encode(),
    "external entity": lambda: b'<!DOCTYPE d [<!ENTITY x SYSTEM "file:///etc/passwd">]><d>&x;</d>',
    "external DTD": lambda: b'<!DOCTYPE d SYSTEM "http://127.0.0.1:9/x.dtd"><d/>',
    "DOCTYPE behind a comment": lambda: b"<?xml version='1.0'?><!-- x --><?y ?>\n<!DOCTYPE d []><d/>",
    "DOCTYPE behind two marks": lambda: b"\xef\xbb\xbf" * 2 + b"<!DOCTYPE d [<!ENTITY x 'y'>]><d>&x;</d>",
    "DOCTYPE in UTF-16": lambda: '<!DOCTYPE d [<!ENTITY x "y">]><d>&x;</d>'.encode("utf-16"),
    "DOCTYPE in UTF-16 without a mark": lambda: '<!DOCTYPE d [<!ENTITY x "y">]><d>&x;</d>'.encode("utf-16-be"),
    "DOCTYPE in what is said to be UTF-16": lambda: (
        b'<?xml version="1.0" encoding="utf-16"?><!DOCTYPE d [<!ENTITY x "y">]><d>&x;</d>'
    ),
    "unknown entity": lambda: around("<task id='t' name='&x;'/>"),
    "two million bytes": lambda: around("<!-- " + "x" * 2_000_000 + " -->"),
    "ten megabytes of attributes": lambda: b"<d " + b"a='1' " * 1_700_000 + b"/>",
    "attributes": lambda: f"<d {number('a%d=' + chr(39) * 2 + ' ')}/>".encode(),
    "namespaces": lambda: f"<d {number('xmlns:a%d=' + chr(39) + 'u' + chr(39) + ' ')}/>".encode(),
    "deep nesting": lambda: b"<a>" * 100_000,
    "deep sub-processes": lambda: around(repeat("<subProcess id='a'>", until=100_000)),
    "million elements": lambda: b"<a>" + b"<b/>" * 1_000_000 + b"</a>",
    "many elements": lambda: around(repeat("<a/>")),
    "many tasks": lambda: around(number("<task id='t%d'/>")),
    "many unsupported": lambda: around(number("<transaction id='t%d'/>")),
    "many flows": lambda: around(number("<sequenceFlow id='f%d' sourceRef='s' targetRef='s'/>")),
    "many flows to one exclusive": lambda: around(
        "<exclusiveGateway id='g'/>" + number("<sequenceFlow id='f%d' sourceRef='g' targetRef='g'/>")
    ),
    "many inputs": lambda: around(
        "<serviceTask id='t'><extensionElements>"
        + number("<p:input name='a%d' value='1'/>")
        + "</extensionElements></serviceTask><task/>"
    ),
    "many messages": lambda: f"<definitions {BPMN}>{number(MESSAGE)}<process id='p'/></definitions>".encode(),
    "unclosed texts": lambda: around(f"<scriptTask id='t'><script>{repeat(chr(92) + chr(34))}</script></scriptTask>"),
    "many assignments": lambda: around(f"<scriptTask id='t'><script>{number('a%d=1;')}</script></scriptTask><task/>"),
    "long sums": lambda: around(number(f"<scriptTask id='t%d' p:assign='a = {'a+' * 245}a'/>")),
    "brackets": lambda: around(f"<scriptTask id='t' p:assign='a = {repeat('(')}'/>"),
    "form of spaces": lambda: around(f"<userTask id='t' p:form='a:b{repeat(' ')}x'/>"),
    "form of fields": lambda: around(f"<userTask id='t' p:form='{number('f%d,')}'/>"),
    "form of brackets": lambda: around(f"<userTask id='t' p:form='a:b({repeat('|')}'/>"),
    "long condition": lambda: around(
        "<sequenceFlow id='f' sourceRef='s' targetRef='s'>"
        f"<conditionExpression>{repeat('1+')}1</conditionExpression></sequenceFlow>"
    ),
    "long timer": lambda: around(
        f"<intermediateCatchEvent id='c'><timerEventDefinition><timeDuration>P{repeat('1')}"
        "</timeDuration></timerEventDefinition></intermediateCatchEvent>"
    ),
    "long cycle": lambda: around(
        f"<intermediateCatchEvent id='c'><timerEventDefinition><timeCycle>R/{repeat('P/')}"
        "</timeCycle></timerEventDefinition></intermediateCatchEvent>"
    ),
    "long number": lambda: around(f"<task id='t'><standardLoopCharacteristics loopMaximum='{repeat('9')}'/></task>"),
    "long name": lambda: around(f"<task id='t' name='{repeat('x')}'/>"),
    "long line": lambda: ("<" + repeat("x")).encode(),
    "unfinished comment": lambda: ("<!--" + repeat("-x")).encode(),
    "many comments": lambda: (repeat("<!---->") + "<!").encode(),
    "many instructions": lambda: repeat("<?a ?>").encode(),
    "declaration without an end": lambda: ("<?xml " + repeat(" ")).encode(),
    "spaces": lambda: repeat(" ").encode(),
    "NUL": lambda: TRUSTED.replace("p", "\0").encode(),
    "NULs": lambda: b"\0" * 900_000,
    "control character": lambda: TRUSTED.replace('id="s"', 'id="&#1;"').encode(),
    "wrong encoding": lambda: b'<?xml version="1.0" encoding="utf-8"?><d>\xff\xfe</d>',
    "unknown encoding": lambda: b'<?xml version="1.0" encoding="klingon"?><d/>',
    "clever encoding": lambda: b'<?xml version="1.0" encoding="utf-7"?>+ADwAIQ-DOCTYPE d+AD4-',
    "codec that is none": lambda: b'<?xml version="1.0" encoding="bz2"?><d/>',
    "UTF-16 cut in half": lambda: TRUSTED.encode("utf-16")[:-1],
    "UTF-16 without a mark": lambda: TRUSTED.encode("utf-16-le"),
    "UTF-32": lambda: TRUSTED.encode("utf-32"),
    "compressed": lambda: b"\x1f\x8b\x08\x00" + b"\x00" * 100,
    "nothing": lambda: b"",
    "not XML": lambda: b"Dear Sir or Madam",
    "JSON": lambda: b'{"definitions": []}',
    "cut off": lambda: TRUSTED.encode()[:-5],
    "two roots": lambda: TRUSTED.encode() * 2,
    "another root": lambda: b"<html/>",
    "root of another name": lambda: f"<process {BPMN}/>".encode(),
    "CMMN": lambda: b'<definitions xmlns="http://www.omg.org/spec/CMMN/20151109/MODEL"/>',
}
HARMLESS = frozenset(
    {
        "many messages",
        "many assignments",
        "unclosed texts",
        "long name",
        "long condition",
        "long number",
        "UTF-16 without a mark",
    }
)
"""Read, because what is too much in them is cut, or left to a worker; as fast as the others."""


def read_all() -> None:
    """Print how long each took, and the most memory that all of them needed beyond what was there before."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for name, make in FILES.items():
        source = make()
        began = time.process_time()
        try:
            parse_definition(source)
            outcome = "read"
        except InvalidDefinition as refused:
            outcome = refused.problems[0].message[:60]
        print(f"{time.process_time() - began:.3f}", name, outcome, sep="\t")
    print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024, "memory", "", sep="\t")


if __name__ == "__main__":
    read_all()
