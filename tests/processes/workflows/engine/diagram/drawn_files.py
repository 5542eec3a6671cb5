"""Small files with a drawing, and what was drawn from them."""

from pathlib import Path

from lxml import etree

from processes.workflows.engine.diagram import Marks, draw_diagram

SVG = "{http://www.w3.org/2000/svg}"
FILES = Path(__file__).parent / "files"

_FILE = """<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL"
  xmlns:bpmndi="http://www.omg.org/spec/BPMN/20100524/DI" xmlns:dc="http://www.omg.org/spec/DD/20100524/DC"
  xmlns:di="http://www.omg.org/spec/DD/20100524/DI">
<process id="p" name="Process">{model}</process>
<bpmndi:BPMNDiagram><bpmndi:BPMNPlane bpmnElement="p">{drawn}</bpmndi:BPMNPlane></bpmndi:BPMNDiagram>
</definitions>"""


def make(model: str, drawn: str) -> bytes:
    return _FILE.format(model=model, drawn=drawn).encode()


def shape(
    element: str, x: str = "0", y: str = "0", width: str = "100", height: str = "80", more: str = "", inner: str = ""
) -> str:
    bounds = f'<dc:Bounds x="{x}" y="{y}" width="{width}" height="{height}"/>'
    return f'<bpmndi:BPMNShape bpmnElement="{element}" {more}>{bounds}{inner}</bpmndi:BPMNShape>'


def edge(element: str, *points: tuple[str, str]) -> str:
    corners = "".join(f'<di:waypoint x="{x}" y="{y}"/>' for x, y in points)
    return f'<bpmndi:BPMNEdge bpmnElement="{element}">{corners}</bpmndi:BPMNEdge>'


def read_file(name: str) -> bytes:
    return (FILES / f"{name}.bpmn").read_bytes()


class Drawn:
    """A drawing, taken apart."""

    def __init__(self, source: bytes, marks: Marks | None = None) -> None:
        content = draw_diagram(source, marks)
        assert content is not None
        self.content = content
        self.root = etree.fromstring(content)

    def find(self, element: str) -> etree._Element | None:
        return self.root.find(f".//{SVG}g[@data-element='{element}']")

    def count(self, element: str, tag: str) -> int:
        return len(self.find(element).findall(f".//{SVG}{tag}"))

    def look(self, element: str) -> tuple[str, str]:
        """Give fill and stroke of the first figure of an element."""
        figure = next(node for node in self.find(element) if node.get("fill"))
        return figure.get("fill"), figure.get("stroke")

    def badges(self, element: str) -> list[str]:
        return [text.text for text in self.root.findall(f".//{SVG}g[@data-marks='{element}']/{SVG}text")]

    def lines(self, element: str | None = None) -> list[str]:
        node = self.root if element is None else self.find(element)
        return [line.text for line in node.iter(f"{SVG}tspan")]

    def paths(self, element: str) -> list[str]:
        return [path.get("d") for path in self.find(element).iter(f"{SVG}path")]
