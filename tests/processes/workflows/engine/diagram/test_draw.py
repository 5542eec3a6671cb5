"""What is drawn for the elements of a file."""

import pytest

from processes.workflows.engine.diagram import draw_diagram
from processes.workflows.engine.diagram.icons import EVENT_ICONS, GATEWAY_ICONS, MARKER_ICONS, TASK_ICONS
from tests.processes.workflows.engine.diagram.drawn_files import SVG, Drawn, edge, make, read_file, shape

EVENT = {"width": "36", "height": "36"}


@pytest.fixture(scope="module")
def alphabet() -> Drawn:
    return Drawn(read_file("alphabet"))


@pytest.fixture(scope="module")
def order() -> Drawn:
    return Drawn(read_file("order"))


@pytest.fixture(scope="module")
def repair() -> Drawn:
    return Drawn(read_file("repair"))


class TestFile:
    @pytest.mark.parametrize("name", ["alphabet", "order", "repair"])
    def test_everything_in_the_interchange_is_drawn(self, name: str) -> None:
        drawn, source = Drawn(read_file(name)), read_file(name).decode()
        listed = source.count("<bpmndi:BPMNShape ") + source.count("<bpmndi:BPMNEdge ")
        assert len(drawn.root.findall(f".//{SVG}g[@data-element]")) == listed

    def test_the_same_file_gives_the_same_bytes(self) -> None:
        assert draw_diagram(read_file("alphabet")) == draw_diagram(read_file("alphabet"))

    def test_a_file_without_interchange_gives_nothing(self) -> None:
        assert draw_diagram(read_file("order").split(b"<bpmndi:BPMNDiagram")[0] + b"</bpmn:definitions>") is None

    def test_an_empty_plane_gives_nothing(self) -> None:
        assert draw_diagram(make('<task id="t"/>', "")) is None

    def test_another_language_gives_nothing(self) -> None:
        assert draw_diagram(b'<definitions xmlns="https://www.omg.org/spec/DMN/20191111/MODEL/"/>') is None

    def test_it_is_an_image_with_a_title(self, order: Drawn) -> None:
        assert order.root.get("role") == "img"
        assert order.root.findtext(f"{SVG}title") == "Order to delivery"

    def test_negative_coordinates_lie_within_the_view(self, alphabet: Drawn) -> None:
        left, top, width, height = map(float, alphabet.root.get("viewBox").split())
        assert left < -450
        assert top < -300
        assert left + width > 540
        assert top + height > 580

    def test_a_reference_may_carry_a_prefix(self) -> None:
        assert Drawn(make('<task id="t"/>', shape("own:t"))).find("t") is not None


class TestEvents:
    def test_catching_and_boundary_events_have_two_rings(self, alphabet: Drawn) -> None:
        rings = [alphabet.count(key, "circle") for key in ("Start", "Catch", "Throw", "End", "B_0")]
        assert rings == [1, 2, 2, 1, 2]

    def test_an_end_is_thicker_than_a_start(self, alphabet: Drawn) -> None:
        start, end = (alphabet.find(key).find(f"{SVG}circle") for key in ("Start", "End"))
        assert float(end.get("stroke-width")) > float(start.get("stroke-width"))

    def test_only_one_that_does_not_interrupt_is_dashed(self, alphabet: Drawn) -> None:
        dashes = [
            alphabet.find(key).find(f"{SVG}circle").get("stroke-dasharray") for key in ("B_0", "B_1", "Quiet_timer")
        ]
        assert dashes == [None, "4 3", "4 3"]

    @pytest.mark.parametrize("trigger", ["message", "timer", "condition", "signal", "error", "compensation"])
    def test_each_trigger_has_its_icon(self, alphabet: Drawn, trigger: str) -> None:
        assert EVENT_ICONS[trigger].body in alphabet.paths(f"Start_{trigger}")

    def test_what_is_thrown_is_filled(self, alphabet: Drawn) -> None:
        caught, thrown = (
            alphabet.find(key).find(f".//{SVG}path").get("fill") for key in ("Catch_signal", "Throw_signal")
        )
        assert caught == "#ffffff"
        assert thrown != caught

    def test_a_definition_may_stand_elsewhere_in_the_file(self) -> None:
        model = (
            '<timerEventDefinition id="d"/><startEvent id="s"><eventDefinitionRef>d</eventDefinitionRef></startEvent>'
        )
        assert EVENT_ICONS["timer"].body in Drawn(make(model, shape("s", **EVENT))).paths("s")


class TestActivities:
    @pytest.mark.parametrize("kind", sorted(TASK_ICONS))
    def test_each_type_has_its_icon(self, alphabet: Drawn, kind: str) -> None:
        assert TASK_ICONS[kind].body in alphabet.paths(f"T_{kind}")

    @pytest.mark.parametrize(
        ("key", "marker"),
        [
            ("L_loop", "loop"),
            ("L_par", "parallel"),
            ("L_seq", "sequential"),
            ("L_comp", "compensation"),
            ("C_sub", "collapsed"),
        ],
    )
    def test_each_marker_is_shown(self, alphabet: Drawn, key: str, marker: str) -> None:
        assert MARKER_ICONS[marker].body in alphabet.paths(key)

    def test_a_call_has_a_thick_border_and_an_event_sub_process_a_dotted_one(self, alphabet: Drawn) -> None:
        boxes = {key: alphabet.find(key).find(f"{SVG}rect") for key in ("T_task", "C_call", "S_event")}
        assert [box.get("stroke-width") for box in boxes.values()] == ["1.6", "3.6", "1.6"]
        assert [box.get("stroke-dasharray") for box in boxes.values()] == [None, None, "1 4"]

    def test_what_lies_in_a_collapsed_one_is_not_drawn(self) -> None:
        flow = '<sequenceFlow id="f" sourceRef="t" targetRef="u"/>'
        model = f'<subProcess id="s"><task id="t"/><task id="u"/>{flow}</subProcess>'
        inside = shape("t") + shape("u") + edge("f", ("0", "0"), ("50", "0"))
        drawn = Drawn(make(model, shape("s", more='isExpanded="false"') + inside))
        assert [drawn.find(key) is None for key in "stuf"] == [False, True, True, True]

    def test_an_outer_one_lies_behind_its_content(self) -> None:
        model = '<subProcess id="s"><task id="t"/></subProcess>'
        drawn = Drawn(make(model, shape("t") + shape("s", width="300", height="300")))
        order = [group.get("data-element") for group in drawn.root.findall(f"{SVG}g[@data-element]")]
        assert order == ["s", "t"]


class TestGateways:
    @pytest.mark.parametrize(
        ("key", "kind"), [("G_x", "exclusiveGateway"), ("G_p", "parallelGateway"), ("G_o", "inclusiveGateway")]
    )
    def test_each_kind_has_its_sign(self, alphabet: Drawn, key: str, kind: str) -> None:
        assert GATEWAY_ICONS[kind].body in alphabet.paths(key)

    def test_an_exclusive_one_may_hide_its_cross(self, alphabet: Drawn) -> None:
        assert len(alphabet.paths("G_bare")) == 1

    def test_an_event_based_one_has_rings_and_a_pentagon(self, alphabet: Drawn) -> None:
        assert (alphabet.count("G_e", "circle"), len(alphabet.paths("G_e"))) == (2, 2)


class TestFlows:
    def test_a_flow_ends_in_a_head_at_its_last_point(self, order: Drawn) -> None:
        assert "L290 300L" in order.paths("F1")[1]

    def test_the_default_and_the_conditional_flow_are_marked(self, repair: Drawn) -> None:
        assert [len(repair.paths(key)) for key in ("F1", "F_else", "F_visit")] == [2, 3, 3]

    def test_a_condition_behind_a_gateway_is_not_marked(self, order: Drawn) -> None:
        assert [len(order.paths(key)) for key in ("F_yes", "F_no")] == [2, 3]

    def test_messages_are_dashed_and_associations_dotted(self, order: Drawn) -> None:
        dashes = [order.find(key).find(f"{SVG}path").get("stroke-dasharray") for key in ("F1", "M_order", "A_note")]
        assert dashes == [None, "7 5", "1 4"]

    def test_only_a_directed_association_has_a_head(self, order: Drawn) -> None:
        assert [len(order.paths(key)) for key in ("A_note", "A_list")] == [1, 2]

    def test_a_flow_between_equal_points_is_left_out(self) -> None:
        model = '<task id="t"/><sequenceFlow id="f" sourceRef="t" targetRef="t"/>'
        drawn = Drawn(make(model, shape("t") + edge("f", ("5", "5"), ("5", "5"))))
        assert drawn.find("f") is None


class TestLabels:
    def test_names_stand_in_activities_and_beside_events(self, order: Drawn) -> None:
        assert order.lines("Check") == ["Check the", "order"]
        assert order.lines("Delivered") == []
        assert "Delivered" in order.lines()

    def test_a_pool_is_written_upright_and_a_closed_one_level(self, order: Drawn) -> None:
        turned = {
            key: "rotate" in order.find(key).find(f"{SVG}text").get("transform", "") for key in ("Shop", "Customer")
        }
        assert turned == {"Shop": True, "Customer": False}

    def test_an_annotation_shows_its_text(self, order: Drawn) -> None:
        assert " ".join(order.lines("Note")) == "Fragile goods are packed by two people."

    def test_a_label_stands_where_the_file_says(self) -> None:
        place = '<bpmndi:BPMNLabel><dc:Bounds x="200" y="300" width="40" height="14"/></bpmndi:BPMNLabel>'
        drawn = Drawn(make('<endEvent id="e" name="End"/>', shape("e", **EVENT, inner=place)))
        line = drawn.root.find(f"{SVG}text/{SVG}tspan")
        assert line.get("x") == "220"
        assert 300 < float(line.get("y")) < 315

    def test_a_long_name_is_cut_to_its_box(self) -> None:
        drawn = Drawn(make(f'<userTask id="t" name="{"word " * 100}"/>', shape("t")))
        assert len(drawn.lines("t")) <= 4
        assert drawn.lines("t")[-1].endswith("…")
