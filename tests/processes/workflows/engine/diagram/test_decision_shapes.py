"""The requirement graph of a file of decisions."""

import pytest
from lxml import etree

from processes.workflows.engine.diagram import decision_shapes, draw_diagram
from processes.workflows.engine.diagram.decision_shapes import MOST_SHAPES
from tests.processes.workflows.decision_files import decision, dmn, literal

_SVG = {"s": "http://www.w3.org/2000/svg"}
_DMNDI = "https://www.omg.org/spec/DMN/20191111/DMNDI/"
_DC = "http://www.omg.org/spec/DMN/20180521/DC/"
INPUT = '<inputData id="season" name="Season"/>'
SOURCE = '<knowledgeSource id="law" name="Law"/>'
MODEL = (
    '<businessKnowledgeModel id="tax" name="Tax"><encapsulatedLogic>'
    f"{literal('1')}</encapsulatedLogic></businessKnowledgeModel>"
)


def requiring(key: str, *requirements: str) -> str:
    return decision(key, literal("1")).replace("</decision>", "".join(requirements) + "</decision>", 1)


GRAPH = (
    INPUT,
    SOURCE,
    MODEL,
    requiring("base", '<informationRequirement><requiredInput href="#season"/></informationRequirement>'),
    requiring(
        "top",
        '<informationRequirement><requiredDecision href="#base"/></informationRequirement>',
        '<knowledgeRequirement><requiredKnowledge href="#tax"/></knowledgeRequirement>',
        '<authorityRequirement><requiredAuthority href="#law"/></authorityRequirement>',
    ),
)


def draw(source: bytes) -> etree._Element:
    drawn = draw_diagram(source)
    assert drawn is not None
    return etree.fromstring(drawn)


def place(svg: etree._Element, key: str) -> tuple[float, float]:
    group = svg.xpath(f'//s:g[@data-element="{key}"]', namespaces=_SVG)[0]
    x, y = group.get("transform").removeprefix("translate(").removesuffix(")").split()
    return float(x), float(y)


class TestLayout:
    def test_what_requires_something_stands_above_it(self) -> None:
        svg = draw(dmn(*GRAPH))
        rows = {key: place(svg, key)[1] for key in ("season", "law", "tax", "base", "top")}
        assert rows["top"] < rows["base"] < rows["season"]
        assert rows["law"] == rows["tax"] == rows["season"]

    def test_names_and_requirements_are_drawn(self) -> None:
        svg = draw(dmn(*GRAPH))
        assert {"Season", "Law", "Tax"} <= {text.text for text in svg.iter("{*}tspan")}
        links = {group.get("data-element") for group in svg.iter("{*}g")}
        assert {"season~base", "base~top", "tax~top", "law~top"} <= links

    def test_nothing_lies_on_another(self) -> None:
        svg = draw(dmn(*GRAPH))
        places = [place(svg, key) for key in ("season", "law", "tax", "base", "top")]
        assert len(set(places)) == len(places)

    def test_gives_the_same_picture_each_time(self) -> None:
        assert draw_diagram(dmn(*GRAPH)) == draw_diagram(dmn(*GRAPH))


class TestInterchange:
    def test_places_of_the_file_count(self) -> None:
        shapes = "".join(
            f'<i:DMNShape dmnElementRef="{key}"><c:Bounds x="{x}" y="50" width="100" height="60"/></i:DMNShape>'
            for key, x in (("season", 10), ("base", 300))
        )
        di = f'<i:DMNDI xmlns:i="{_DMNDI}" xmlns:c="{_DC}"><i:DMNDiagram>{shapes}</i:DMNDiagram></i:DMNDI>'
        requirement = '<informationRequirement><requiredInput href="#season"/></informationRequirement>'
        svg = draw(dmn(INPUT, requiring("base", requirement), di))
        assert (place(svg, "season"), place(svg, "base")) == ((10, 50), (300, 50))


class TestLimits:
    @pytest.mark.parametrize("parts", [(decision("d", literal("1")),), (INPUT, decision("d", literal("1")))])
    def test_a_decision_alone_is_no_graph(self, parts: tuple[str, ...]) -> None:
        assert draw_diagram(dmn(*parts)) is None

    def test_a_graph_of_too_many_is_not_drawn(self) -> None:
        few = [f'<inputData id="i{number}" name="I"/>' for number in range(MOST_SHAPES - 1)]
        needs = "".join(
            f'<informationRequirement><requiredInput href="#i{number}"/></informationRequirement>'
            for number in range(MOST_SHAPES)
        )
        assert draw_diagram(dmn(*few, requiring("d", needs))) is not None
        assert draw_diagram(dmn(*few, f'<inputData id="i{MOST_SHAPES - 1}" name="I"/>', requiring("d", needs))) is None

    def test_nor_is_one_of_too_many_lines(self, monkeypatch: pytest.MonkeyPatch) -> None:
        requirement = '<informationRequirement><requiredInput href="#season"/></informationRequirement>'
        source = dmn(INPUT, requiring("a", requirement), requiring("b", requirement))
        monkeypatch.setattr(decision_shapes, "MOST_LINKS", 2)
        assert draw_diagram(source) is not None
        monkeypatch.setattr(decision_shapes, "MOST_LINKS", 1)
        assert draw_diagram(source) is None

    def test_a_ring_ends(self) -> None:
        ring = (
            requiring("a", '<informationRequirement><requiredDecision href="#b"/></informationRequirement>'),
            requiring("b", '<informationRequirement><requiredDecision href="#a"/></informationRequirement>'),
        )
        assert draw_diagram(dmn(*ring)) is not None

    def test_names_cannot_become_markup(self) -> None:
        hostile = INPUT.replace("Season", "&lt;script&gt;")
        requirement = '<informationRequirement><requiredInput href="#season"/></informationRequirement>'
        drawn = draw_diagram(dmn(hostile, requiring("base", requirement)))
        assert drawn is not None
        assert b"<script" not in drawn
