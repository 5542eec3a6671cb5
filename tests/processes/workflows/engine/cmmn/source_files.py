"""Files for the tests: those in files/, and small ones around a few lines of XML."""

from pathlib import Path

from processes.workflows.engine.cmmn.parser import parse_cmmn
from processes.workflows.engine.definition import Definition
from processes.workflows.engine.problems import InvalidDefinition
from tests.processes.workflows.case_files import CMMN

FILES = Path(__file__).parent / "files"


def load(name: str) -> Definition:
    return parse_cmmn((FILES / f"{name}.cmmn").read_bytes())


def wrap(body: str, roots: str = "", model: str = "", case: str = "") -> bytes:
    """Write a case around what stands beside its human task `A`; the body begins on line 4."""
    return (
        f'<definitions xmlns="{CMMN}" xmlns:postern="https://postern.dev/bpmn/1.0" xmlns:c="urn:c">{roots}\n'
        f'<case id="c">{case}\n'
        f'<casePlanModel id="plan" {model}><planItem id="A" definitionRef="A_def" /><humanTask id="A_def" />\n'
        f"{body}\n</casePlanModel>\n</case>\n</definitions>"
    ).encode()


def list_problems(source: bytes) -> list[tuple[str, int, str]]:
    """Give what is wrong with a file: element, line, message."""
    try:
        parse_cmmn(source)
    except InvalidDefinition as refused:
        return [(problem.element, problem.line, problem.message) for problem in refused.problems]
    return []


ON_A = '<planItemOnPart sourceRef="A"><standardEvent>complete</standardEvent></planItemOnPart>'
SENTRY = f'<sentry id="s">{ON_A}</sentry>'


def item(name: str, inside: str = "", attributes: str = "", control: str = "") -> str:
    """Write the plan item `X` on one line, and what defines it on the next."""
    return (
        f'<planItem id="X" definitionRef="X_def">{f"<itemControl>{control}</itemControl>" if control else ""}{inside}'
        f'</planItem>\n<{name} id="X_def" {attributes}><timerExpression>PT1H</timerExpression></{name}>'
    )
