"""Files that were made to harm: what is in them is text, or is not drawn."""

import pytest
from lxml import etree

from processes.workflows.engine.diagram import Marks, draw_diagram, interchange
from processes.workflows.engine.problems import InvalidDefinition
from tests.processes.workflows.engine.diagram.drawn_files import SVG, Drawn, edge, make, read_file, shape

TAGS = {"svg", "g", "title", "desc", "rect", "circle", "ellipse", "path", "text", "tspan"}
SCRIPT = "&lt;/text&gt;&lt;script&gt;alert(1)&lt;/script&gt;"


class TestInjection:
    @pytest.mark.parametrize("name", ["alphabet", "order", "repair"])
    def test_a_drawing_has_no_script_no_style_and_no_reference(self, name: str) -> None:
        drawn = Drawn(read_file(name), Marks(active={"Pack": 1}))
        nodes = list(drawn.root.iter())
        assert {etree.QName(node).localname for node in nodes} <= TAGS
        names = {attribute for node in nodes for attribute in node.attrib}
        assert not {
            attribute
            for attribute in names
            if attribute.startswith("on") or "href" in attribute or attribute == "style"
        }
        assert b"url(" not in drawn.content

    @pytest.mark.parametrize("kind", ["task", "startEvent", "exclusiveGateway", "dataStoreReference", "unheardOf"])
    def test_markup_in_a_name_is_text(self, kind: str) -> None:
        drawn = Drawn(make(f'<{kind} id="t" name="{SCRIPT}"/>', shape("t", width="900")))
        assert b"<script" not in drawn.content
        assert drawn.root.findtext(f".//{SVG}g/{SVG}title") == "</text><script>alert(1)</script>"

    def test_markup_in_an_annotation_and_an_id_is_text(self) -> None:
        model = f'<textAnnotation id="{SCRIPT}"><text>{SCRIPT}</text></textAnnotation>'
        drawn = Drawn(make(model, shape(SCRIPT)), Marks(active={"</text><script>alert(1)</script>": 1}))
        assert b"<script" not in drawn.content

    def test_attributes_of_the_file_do_not_reach_the_drawing(self) -> None:
        link = 'xmlns:x="http://www.w3.org/1999/xlink" x:href="javascript:alert(1)"'
        more = f'{link} onload="alert(1)" style="x" fill="url(//e)"'
        drawn = Drawn(make(f'<task id="t" name="javascript:alert(1)" {more}/>', shape("t", width="900", more=more)))
        assert drawn.lines("t") == ["javascript:alert(1)"]
        assert drawn.content.count(b"alert") == 2

    def test_entities_are_refused(self) -> None:
        source = b'<!DOCTYPE d [<!ENTITY e SYSTEM "file:///etc/passwd">]>' + make(
            '<task id="t" name="&e;"/>', shape("t")
        )
        with pytest.raises(InvalidDefinition):
            draw_diagram(source)


class TestNumbers:
    @pytest.mark.parametrize(
        "number", ["nan", "inf", "-inf", "1e309", "100001", "-1e6", "", "x", "1" * 60, "0 0'/><script>", "１e9"]
    )
    def test_a_shape_at_no_place_is_left_out(self, number: str) -> None:
        source = make('<task id="t"/><task id="u"/>', shape("t", x=number.replace("<", "&lt;")) + shape("u"))
        drawn = Drawn(source)
        assert drawn.find("t") is None
        assert drawn.find("u") is not None

    @pytest.mark.parametrize("size", ["0", "-5", "0.01", "nan", "1e9"])
    def test_a_shape_of_no_size_is_left_out(self, size: str) -> None:
        assert draw_diagram(make('<task id="t"/>', shape("t", width=size))) is None

    @pytest.mark.parametrize(
        "kind", ["task", "userTask", "endEvent", "eventBasedGateway", "participant", "transaction", "group"]
    )
    @pytest.mark.parametrize(("width", "height"), [("1", "1"), ("100000", "1"), ("100000", "100000")])
    def test_no_size_within_the_limits_gives_a_negative_one(self, kind: str, width: str, height: str) -> None:
        drawn = Drawn(make(f'<{kind} id="t" name="A name"/>', shape("t", width=width, height=height)))
        sizes = [node.get(name) for node in drawn.root.iter() for name in ("width", "height", "r", "rx", "ry")]
        assert all(float(size) >= 0 for size in sizes if size is not None)

    def test_a_flow_through_no_place_is_left_out(self) -> None:
        model = '<task id="t"/><sequenceFlow id="f" sourceRef="t" targetRef="t"/>'
        drawn = Drawn(make(model, shape("t") + edge("f", ("0", "0"), ("nan", "5"), ("9", "9"))))
        assert drawn.find("f") is None

    def test_a_label_at_no_place_falls_back_to_its_shape(self) -> None:
        place = '<bpmndi:BPMNLabel><dc:Bounds x="inf" y="0" width="40" height="14"/></bpmndi:BPMNLabel>'
        drawn = Drawn(make('<endEvent id="e" name="End"/>', shape("e", width="36", height="36", inner=place)))
        assert drawn.root.find(f"{SVG}text/{SVG}tspan").get("x") == "18"


class TestAmounts:
    def test_too_many_shapes_are_not_drawn(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(interchange, "MOST_SHAPES", 9)
        pages = [
            make("".join(f'<task id="t{n}"/>' for n in range(count)), "".join(shape(f"t{n}") for n in range(count)))
            for count in (9, 10)
        ]
        assert [draw_diagram(page) is None for page in pages] == [False, True]

    def test_too_many_lines_are_not_drawn(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(interchange, "MOST_SHAPES", 2)
        monkeypatch.setattr(interchange, "MOST_EDGES", 3)
        model = '<task id="t"/><sequenceFlow id="f" sourceRef="t" targetRef="t"/>'
        pages = [make(model, shape("t") + edge("f", ("0", "0"), ("9", "9")) * count) for count in (4, 5)]
        assert [draw_diagram(page) is None for page in pages] == [False, True]

    def test_a_shape_repeated_is_drawn_once(self) -> None:
        drawn = Drawn(make('<task id="t"/>', shape("t") * 500))
        assert len(drawn.root.findall(f"{SVG}g")) == 1

    def test_an_endless_line_is_cut_and_keeps_its_end(self) -> None:
        corners = [(str(number % 7), str(number)) for number in range(5_000)]
        model = '<task id="t"/><sequenceFlow id="f" sourceRef="t" targetRef="t"/>'
        drawn = Drawn(make(model, shape("t") + edge("f", *corners)))
        assert drawn.paths("f")[0].count("Q") == interchange.MOST_POINTS - 2
        assert "4999L" in drawn.paths("f")[1]

    def test_a_name_as_long_as_the_file_is_cut(self) -> None:
        drawn = Drawn(make(f'<task id="t" name="{"x" * 500_000}"/>', shape("t", width="100000", height="100000")))
        assert len(drawn.content) < 4_000

    def test_a_file_that_lies_in_itself_ends(self) -> None:
        model = '<subProcess id="s"><subProcess id="s"><task id="t"/></subProcess></subProcess>'
        assert Drawn(make(model, shape("s") + shape("t"))).find("t") is not None
