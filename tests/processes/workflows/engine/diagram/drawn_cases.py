"""Small cases with a drawing."""

from tests.processes.workflows.engine.diagram.drawn_files import FILES

_FILE = """<definitions xmlns="http://www.omg.org/spec/CMMN/20151109/MODEL"
  xmlns:cmmndi="http://www.omg.org/spec/CMMN/20151109/CMMNDI" xmlns:dc="http://www.omg.org/spec/CMMN/20151109/DC"
  xmlns:di="http://www.omg.org/spec/CMMN/20151109/DI">
<case id="c" name="Case"><casePlanModel id="plan">{model}</casePlanModel></case>
<cmmndi:CMMNDI><cmmndi:CMMNDiagram>{drawn}</cmmndi:CMMNDiagram></cmmndi:CMMNDI>
</definitions>"""


def make_case(model: str, drawn: str) -> bytes:
    return _FILE.format(model=model, drawn=drawn).encode()


def item(key: str, kind: str = "humanTask", name: str = "", inside: str = "", more: str = "") -> str:
    """Write a plan item and what defines it."""
    definition = f'<{kind} id="{key}_def" name="{name}" {more}>{inside}</{kind}>'
    return f'<planItem id="{key}" definitionRef="{key}_def"/>{definition}'


def case_shape(
    element: str, x: str = "0", y: str = "0", width: str = "100", height: str = "80", more: str = "", inner: str = ""
) -> str:
    bounds = f'<dc:Bounds x="{x}" y="{y}" width="{width}" height="{height}"/>'
    return f'<cmmndi:CMMNShape cmmnElementRef="{element}" {more}>{bounds}{inner}</cmmndi:CMMNShape>'


def connector(element: str, *points: tuple[str, str], target: str = "", more: str = "", inner: str = "") -> str:
    corners = "".join(f'<di:waypoint x="{x}" y="{y}"/>' for x, y in points)
    attributes = f'cmmnElementRef="{element}" targetCMMNElementRef="{target}" {more}'
    return f"<cmmndi:CMMNEdge {attributes}>{corners}{inner}</cmmndi:CMMNEdge>"


def read_case(name: str = "claim") -> bytes:
    return (FILES / f"{name}.cmmn").read_bytes()
