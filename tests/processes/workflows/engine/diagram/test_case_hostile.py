"""Cases that were made to harm: the limits are those of processes."""

import pytest
from lxml import etree

from processes.workflows.engine.diagram import Marks, draw_diagram, interchange
from tests.processes.workflows.engine.diagram.drawn_cases import (
    case_shape,
    connector,
    item,
    make_case,
    read_case,
)
from tests.processes.workflows.engine.diagram.drawn_files import SVG, Drawn
from tests.processes.workflows.engine.diagram.test_hostile import SCRIPT, TAGS

KINDS = ("humanTask", "processTask", "stage", "milestone", "timerEventListener", "unheardOf")
ON_PART = '<sentry id="s"><planItemOnPart id="o"><standardEvent>{}</standardEvent></planItemOnPart></sentry>'


class TestInjection:
    def test_a_drawing_has_no_script_no_style_and_no_reference(self) -> None:
        drawn = Drawn(read_case(), Marks(items={"P_pay": {"active": 2}, "Plan": {"failed": 1}}))
        nodes = list(drawn.root.iter())
        assert {etree.QName(node).localname for node in nodes} <= TAGS
        names = {str(name) for node in nodes for name in node.attrib}
        assert not {name for name in names if name.startswith("on") or "href" in name or name == "style"}
        assert b"url(" not in drawn.content

    @pytest.mark.parametrize("kind", KINDS)
    def test_markup_in_a_name_is_text(self, kind: str) -> None:
        drawn = Drawn(make_case(item("t", kind, SCRIPT), case_shape("t", width="900")))
        assert b"<script" not in drawn.content
        assert drawn.root.findtext(f".//{SVG}g/{SVG}title") == "</text><script>alert(1)</script>"

    def test_markup_in_the_tab_in_an_event_and_in_a_state_is_text(self) -> None:
        edge = connector("o", ("0", "0"), ("50", "0"), more='isStandardEventVisible="true"')
        source = make_case(ON_PART.format(SCRIPT), case_shape("plan", width="900") + edge)
        source = source.replace(b'id="plan"', f'id="plan" name="{SCRIPT}"'.encode())
        drawn = Drawn(source, Marks(items={"plan": {"<script>": 1, "active": 1}}))
        assert b"<script" not in drawn.content
        assert len([line for line in drawn.lines() if "script" in line]) >= 2


class TestNumbers:
    @pytest.mark.parametrize("number", ["nan", "inf", "1e309", "100001", "-1e6", "", "x", "1" * 60])
    def test_a_shape_at_no_place_is_left_out(self, number: str) -> None:
        drawn = Drawn(make_case(item("t") + item("u"), case_shape("t", x=number) + case_shape("u")))
        assert [drawn.find(key) is None for key in "tu"] == [True, False]

    def test_a_connector_through_no_place_is_left_out(self) -> None:
        drawn = case_shape("plan") + connector("o", ("0", "0"), ("nan", "1"))
        assert Drawn(make_case(ON_PART.format("exit"), drawn)).find("o") is None

    @pytest.mark.parametrize("kind", KINDS)
    @pytest.mark.parametrize(("width", "height"), [("1", "1"), ("100000", "1"), ("100000", "100000")])
    def test_an_odd_size_is_drawn(self, kind: str, width: str, height: str) -> None:
        size = {"width": width, "height": height}
        rules = "<defaultControl><repetitionRule/><requiredRule/></defaultControl>"
        drawn = case_shape("t", **size) + case_shape("plan", **size)
        content = Drawn(make_case(item("t", kind, "A name", rules), drawn), Marks(items={"t": {"active": 1}})).content
        assert b"nan" not in content
        assert b"inf" not in content


class TestAmounts:
    def test_too_many_shapes_are_not_drawn(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(interchange, "MOST_SHAPES", 9)
        pages = [
            make_case("".join(item(f"t{n}") for n in range(count)), "".join(case_shape(f"t{n}") for n in range(count)))
            for count in (9, 10)
        ]
        assert [draw_diagram(page) is None for page in pages] == [False, True]

    def test_an_endless_connector_is_cut(self) -> None:
        corners = [(str(number % 7), str(number)) for number in range(5_000)]
        drawn = Drawn(make_case(ON_PART.format("exit"), case_shape("plan") + connector("o", *corners)))
        assert drawn.paths("o")[0].count("Q") == interchange.MOST_POINTS - 2

    def test_a_connector_repeated_is_drawn_once(self) -> None:
        drawn = case_shape("plan") + connector("o", ("0", "0"), ("9", "0"), target="plan") * 50
        assert len(Drawn(make_case(ON_PART.format("exit"), drawn)).root.findall(f"{SVG}g[@data-element='o']")) == 1

    def test_a_stage_that_lies_in_itself_ends(self) -> None:
        model = '<stage id="s"><planItem id="p" definitionRef="s"/></stage>'
        assert Drawn(make_case(model, case_shape("p"))).find("p") is not None

    def test_stages_that_lie_in_each_other_in_a_circle_end(self) -> None:
        model = (
            '<stage id="s"><planItem id="p" definitionRef="u"/></stage>'
            '<stage id="u"><planItem id="q" definitionRef="s"/></stage>'
        )
        assert Drawn(make_case(model, case_shape("p") + case_shape("q"))).find("q") is not None

    def test_an_item_that_is_its_own_definition_is_drawn(self) -> None:
        assert Drawn(make_case('<planItem id="p" definitionRef="p"/>', case_shape("p"))).find("p") is not None

    def test_a_chain_of_stages_is_followed_no_further_than_elements_can_be_nested(self) -> None:
        # Each lies in the item of the one before it: the file is flat, and what it tells as deep as it has stages.
        model = "".join(f'<stage id="s{n}"><planItem id="p{n}" definitionRef="s{n + 1}"/></stage>' for n in range(99))
        drawn = case_shape("p0", more='isCollapsed="true"') + case_shape("p40") + case_shape("p60")
        found = Drawn(make_case(model, drawn))
        assert [found.find(key) is None for key in ("p0", "p40", "p60")] == [False, True, False]
