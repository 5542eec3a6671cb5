"""What is drawn for the elements of a case."""

import pytest

from processes.workflows.engine.diagram import draw_diagram
from processes.workflows.engine.diagram.colours import INK, PAPER
from processes.workflows.engine.diagram.icons import DECORATOR_ICONS, ITEM_ICONS, LISTENER_ICONS, MARKER_ICONS
from tests.processes.workflows.engine.diagram.drawn_cases import (
    case_shape,
    connector,
    item,
    make_case,
    read_case,
)
from tests.processes.workflows.engine.diagram.drawn_files import SVG, Drawn

ON_PART = (
    '<sentry id="s"><planItemOnPart id="o" sourceRef="t"><standardEvent>exit</standardEvent></planItemOnPart></sentry>'
)
LINE = (("0", "0"), ("90", "0"))


@pytest.fixture(scope="module")
def claim() -> Drawn:
    return Drawn(read_case())


class TestFile:
    def test_everything_in_the_interchange_is_drawn(self, claim: Drawn) -> None:
        source = read_case().decode()
        listed = source.count("<cmmndi:CMMNShape ") + source.count("<cmmndi:CMMNEdge ")
        assert len(claim.root.findall(f".//{SVG}g[@data-element]")) == listed

    def test_the_title_is_the_name_of_the_case(self, claim: Drawn) -> None:
        assert claim.root.findtext(f"{SVG}title") == "Claim for a damaged delivery"

    def test_a_file_without_interchange_gives_nothing(self) -> None:
        assert draw_diagram(read_case().split(b"<cmmndi:CMMNDI")[0] + b"</cmmn:definitions>") is None

    def test_an_empty_diagram_gives_nothing(self) -> None:
        assert draw_diagram(make_case(item("t"), "")) is None

    def test_a_second_diagram_is_drawn_when_the_first_is_empty(self) -> None:
        drawn = f"</cmmndi:CMMNDiagram><cmmndi:CMMNDiagram>{case_shape('t')}"
        assert Drawn(make_case(item("t"), drawn)).find("t") is not None


class TestCasePlan:
    def test_its_tab_carries_the_name_above_its_bounds(self, claim: Drawn) -> None:
        assert claim.lines("Plan") == ["Claim for a damaged delivery"]
        assert float(claim.find("Plan").find(f".//{SVG}tspan").get("y")) < 0

    def test_the_tab_lies_within_the_view(self) -> None:
        drawn = Drawn(make_case("", case_shape("plan", y="50", width="300")))
        assert float(drawn.root.get("viewBox").split()[1]) == 50 - 22 - 24

    def test_a_long_name_is_cut_to_the_width_of_the_plan(self) -> None:
        source = make_case("", case_shape("plan", width="200")).replace(
            b'id="plan"', b'id="plan" name="%s"' % (b"w " * 90)
        )
        assert len(Drawn(source).lines("plan")) == 1
        assert Drawn(source).lines("plan")[0].endswith("…")


class TestItems:
    @pytest.mark.parametrize("kind", sorted(ITEM_ICONS))
    def test_each_type_of_task_has_its_icon(self, kind: str) -> None:
        assert ITEM_ICONS[kind].body in Drawn(make_case(item("t", kind), case_shape("t"))).paths("t")

    @pytest.mark.parametrize("kind", sorted(LISTENER_ICONS))
    def test_a_listener_has_two_rings_around_its_icon(self, kind: str) -> None:
        drawn = Drawn(make_case(item("l", kind), case_shape("l", width="36", height="36")))
        assert LISTENER_ICONS[kind].body in drawn.paths("l")
        assert drawn.count("l", "circle") == 2

    def test_a_stage_has_clipped_corners_and_a_milestone_round_ends(self, claim: Drawn) -> None:
        assert claim.paths("P_inspect")[0].startswith("M16 0L354 0L370 16L370 224")
        assert claim.find("P_decided").find(f"{SVG}rect").get("rx") == "25"

    def test_an_item_is_called_as_it_says_else_as_its_definition(self, claim: Drawn) -> None:
        assert " ".join(claim.lines("P_recover")) == "Recover the damage from the carrier"
        assert " ".join(claim.lines("P_pay")) == "Pay the customer"

    def test_an_item_without_a_definition_is_a_box(self) -> None:
        drawn = Drawn(make_case('<planItem id="p" name="Lost" definitionRef="nowhere"/>', case_shape("p")))
        assert (drawn.count("p", "rect"), drawn.lines("p")) == (1, ["Lost"])

    def test_names_stand_beside_listeners_and_files(self, claim: Drawn) -> None:
        assert claim.lines("P_withdrawn") == claim.lines("F_photos") == []
        assert {"Claim withdrawn", "photos"} <= set(claim.lines())

    def test_an_annotation_shows_its_text(self, claim: Drawn) -> None:
        assert " ".join(claim.lines("Note")) == "Above 10 000 the payment is approved by two people."


class TestDecorators:
    @pytest.mark.parametrize(
        ("key", "markers"),
        [
            ("Plan", ["auto_complete"]),
            ("P_inspect", ["auto_complete"]),
            ("P_decided", ["required"]),
            ("P_recover", ["manual", "repetition"]),
            ("P_ask", ["repetition"]),
            ("P_appeal", ["manual", "required", "repetition"]),
            ("P_register", []),
        ],
    )
    def test_the_rules_of_an_item_are_shown(self, claim: Drawn, key: str, markers: list[str]) -> None:
        shown = [name for name, icon in DECORATOR_ICONS.items() if icon.body in claim.paths(key)]
        assert shown == markers

    def test_the_rules_of_the_item_count_before_those_of_its_definition(self) -> None:
        model = (
            '<planItem id="t" definitionRef="d"><itemControl><requiredRule/></itemControl></planItem>'
            '<humanTask id="d"><defaultControl><repetitionRule/></defaultControl></humanTask>'
        )
        paths = Drawn(make_case(model, case_shape("t"))).paths("t")
        assert DECORATOR_ICONS["required"].body in paths
        assert DECORATOR_ICONS["repetition"].body not in paths

    def test_an_empty_item_control_hides_the_rules_of_the_definition(self) -> None:
        model = (
            '<planItem id="t" definitionRef="d"><itemControl/></planItem>'
            '<humanTask id="d"><defaultControl><repetitionRule/></defaultControl></humanTask>'
        )
        assert DECORATOR_ICONS["repetition"].body not in Drawn(make_case(model, case_shape("t"))).paths("t")


class TestCollapsed:
    MODEL = item("s", "stage", "Outer", item("t") + item("u", "stage", "Inner", item("v")))

    def test_its_marker_is_shown_and_what_lies_in_it_is_not(self) -> None:
        inside = case_shape("t") + case_shape("u") + case_shape("v")
        drawn = Drawn(make_case(self.MODEL, case_shape("s", more='isCollapsed="true"') + inside))
        assert MARKER_ICONS["collapsed"].body in drawn.paths("s")
        assert [drawn.find(key) is None for key in "tuv"] == [True, True, True]

    def test_connectors_in_it_are_not_drawn(self) -> None:
        model = item("s", "stage", "Outer", item("t") + ON_PART)
        shapes = [case_shape("s", more=f'isCollapsed="{closed}"') for closed in ("true", "false")]
        found = [Drawn(make_case(model, shape + connector("o", *LINE))).find("o") for shape in shapes]
        assert [each is None for each in found] == [True, False]

    def test_its_criteria_stay(self, claim: Drawn) -> None:
        assert claim.find("C_appeal") is not None

    def test_an_expanded_one_lies_behind_its_content(self) -> None:
        drawn = Drawn(make_case(self.MODEL, case_shape("t") + case_shape("s", width="300", height="300")))
        assert [group.get("data-element") for group in drawn.root.findall(f"{SVG}g[@data-element]")] == ["s", "t"]


class TestCriteria:
    def test_those_of_entry_are_white_and_those_of_exit_dark(self, claim: Drawn) -> None:
        assert [claim.look(key) for key in ("C_inspect", "C_stop", "C_end")] == [(PAPER, INK), (INK, INK), (INK, INK)]

    def test_they_lie_above_the_items(self, claim: Drawn) -> None:
        order = [group.get("data-element") for group in claim.root.findall(f"{SVG}g[@data-element]")]
        assert min(map(order.index, ("C_pay", "C_decided"))) > max(
            map(order.index, ("P_pay", "P_decided", "O_decided"))
        )


class TestConnectors:
    def test_they_are_dashed_without_a_head(self, claim: Drawn) -> None:
        assert claim.find("O_registered").find(f"{SVG}path").get("stroke-dasharray") == "9 5 1 5"
        assert len(claim.paths("O_registered")) == 1

    def test_one_on_part_may_lead_to_several_criteria(self, claim: Drawn) -> None:
        assert len(claim.root.findall(f".//{SVG}g[@data-element='O_decided']")) == 2

    @pytest.mark.parametrize(
        ("more", "inner", "label"),
        [
            ('isStandardEventVisible="true"', "", ["exit"]),
            ('isStandardEventVisible="false"', "", []),
            ("", "<cmmndi:CMMNLabel/>", []),
            ("", '<cmmndi:CMMNLabel><dc:Bounds x="1" y="1" width="9" height="9"/></cmmndi:CMMNLabel>', ["exit"]),
        ],
    )
    def test_the_event_is_written_where_the_file_shows_it(self, more: str, inner: str, label: list[str]) -> None:
        drawn = case_shape("t") + connector("o", *LINE, more=more, inner=inner)
        assert Drawn(make_case(item("t") + ON_PART, drawn)).lines() == label

    def test_a_named_one_has_its_name_before_the_event(self, claim: Drawn) -> None:
        assert "refused · occur" in claim.lines()

    def test_an_association_is_dotted(self, claim: Drawn) -> None:
        assert claim.find("A_note").find(f"{SVG}path").get("stroke-dasharray") == "1 4"
