"""Tokens, incidents and the states of plan items on a drawing."""

import pytest

from processes.workflows.engine.cases.lifecycle import ItemState
from processes.workflows.engine.diagram import STATES, MarkLabels, Marks, draw_diagram, find_shown_state
from processes.workflows.engine.diagram.colours import ACTIVE, BROKEN, FINISHED, PAUSED, PLAIN
from processes.workflows.engine.diagram.icons import STATE_ICONS as ICONS
from processes.workflows.engine.diagram.marks import STATE_STYLES
from tests.processes.workflows.engine.diagram.drawn_cases import case_shape, item, make_case, read_case
from tests.processes.workflows.engine.diagram.drawn_files import SVG, Drawn, make, read_file, shape

NESTED = '<subProcess id="s"><task id="t"/><subProcess id="u"><task id="v"/></subProcess></subProcess>'


def test_a_token_tints_its_shape_and_shows_the_number() -> None:
    drawn = Drawn(read_file("order"), Marks(active={"Pack": 3}))
    assert drawn.badges("Pack") == ["3"]
    assert drawn.look("Pack") == (ACTIVE.fill, ACTIVE.stroke)
    assert drawn.look("Check") == (PLAIN.fill, PLAIN.stroke)


def test_an_incident_shows_beside_its_token() -> None:
    drawn = Drawn(read_file("order"), Marks(active={"Book": 1}, incidents=frozenset({"Book"})))
    assert drawn.badges("Book") == ["1", "!"]
    assert drawn.look("Book") == (BROKEN.fill, BROKEN.stroke)


def test_what_is_done_is_tinted_without_a_badge() -> None:
    drawn = Drawn(read_file("order"), Marks(done=frozenset({"Check"})))
    assert drawn.look("Check") == (FINISHED.fill, FINISHED.stroke)
    assert drawn.badges("Check") == []


def test_tokens_in_what_is_collapsed_are_counted_on_it() -> None:
    marks = Marks(active={"t": 2, "v": 1}, incidents=frozenset({"v"}), done=frozenset({"t"}))
    drawn = Drawn(make(NESTED, shape("s", more='isExpanded="false"')), marks)
    assert drawn.badges("s") == ["3", "!"]


def test_a_part_that_is_done_does_not_make_the_whole_done() -> None:
    drawn = Drawn(make(NESTED, shape("s", more='isExpanded="false"')), Marks(done=frozenset({"t"})))
    assert drawn.look("s") == (PLAIN.fill, PLAIN.stroke)


def test_unknown_elements_and_empty_counts_are_passed_over() -> None:
    marks = Marks(active={"nowhere": 1, "Pack": 0}, incidents=frozenset({"gone"}), done=frozenset({"lost"}))
    assert draw_diagram(read_file("order"), marks) == draw_diagram(read_file("order"))


def test_a_very_large_number_is_cut() -> None:
    assert Drawn(read_file("order"), Marks(active={"Pack": 10**6})).badges("Pack") == ["999+"]


def test_the_description_says_what_is_shown_in_the_words_given() -> None:
    marks = Marks(active={"Pack": 2}, incidents=frozenset({"Book"}), done=frozenset({"Received"}))
    content = draw_diagram(read_file("order"), marks, MarkLabels(tokens="Токены", incident="Инцидент", done="Пройдено"))
    for said in ("Pack the goods: Токены: 2", "Book the payment in the ledger: Инцидент", "Order received: Пройдено"):
        assert said in content.decode()


def test_the_description_is_empty_without_marks() -> None:
    assert Drawn(read_file("order")).root.findtext(f"{SVG}desc") == ""


CLOSED = make_case(item("s", "stage", "Outer", item("t")), case_shape("s", more='isCollapsed="true"') + case_shape("t"))


def badge(drawn: Drawn, key: str) -> tuple[str, str, list[str]]:
    """Give the state a badge is of, its words and its number."""
    group = drawn.root.find(f".//{SVG}g[@data-marks='{key}']/{SVG}g[@data-state]")
    return group.get("data-state"), group.findtext(f"{SVG}title"), [text.text for text in group.iter(f"{SVG}text")]


class TestStates:
    def test_every_state_of_the_engine_has_a_look_and_a_sign(self) -> None:
        assert set(STATES) == set(ICONS) == {state.value for state in ItemState}

    @pytest.mark.parametrize("state", STATES)
    def test_a_state_is_colour_sign_and_word(self, state: str) -> None:
        drawn = Drawn(read_case(), Marks(items={"P_pay": {state: 1}}))
        assert drawn.look("P_pay") == (STATE_STYLES[state].fill, STATE_STYLES[state].stroke)
        assert badge(drawn, "P_pay") == (state, state, [])
        assert drawn.look("P_recover") == (PLAIN.fill, PLAIN.stroke)

    def test_no_two_states_have_the_same_look_and_sign(self) -> None:
        assert len({(STATE_STYLES[state], ICONS[state]) for state in STATES}) == len(STATES)

    def test_the_plan_shows_its_state(self) -> None:
        drawn = Drawn(read_case(), Marks(items={"Plan": {"suspended": 1}}))
        assert drawn.look("Plan") == (PAUSED.fill, PAUSED.stroke)

    def test_unknown_items_states_and_empty_counts_are_passed_over(self) -> None:
        marks = Marks(items={"nowhere": {"active": 1}, "P_pay": {"asleep": 1, "active": 0}, "P_ask": {}})
        assert draw_diagram(read_case(), marks) == draw_diagram(read_case())


class TestSeveral:
    def test_the_most_alive_one_is_shown_with_the_number_of_such(self) -> None:
        counts = {"completed": 7, "available": 1, "active": 2}
        assert find_shown_state(counts) == ("active", 2)
        drawn = Drawn(read_case(), Marks(items={"P_ask": counts}))
        assert badge(drawn, "P_ask") == ("active", "active: 2", ["2"])

    def test_the_shape_says_all_of_them(self) -> None:
        drawn = Drawn(read_case(), Marks(items={"P_pay": {"completed": 7, "active": 2}}))
        assert drawn.find("P_pay").findtext(f"{SVG}title") == "Pay the customer – active: 2, completed: 7"

    def test_a_very_large_number_is_cut_and_stays_in_the_drawing(self) -> None:
        drawn = Drawn(make_case(item("t"), case_shape("t")), Marks(items={"t": {"active": 10**6}}))
        assert badge(drawn, "t")[2] == ["999+"]
        rect = drawn.root.find(f".//{SVG}g[@data-state]/{SVG}rect")
        assert float(rect.get("x")) - 1 >= float(drawn.root.get("viewBox").split()[0])

    def test_one_that_failed_earlier_is_seen_beside_the_one_that_lives(self) -> None:
        drawn = Drawn(read_case(), Marks(items={"P_pay": {"active": 1, "failed": 1}}))
        assert drawn.look("P_pay") == (ACTIVE.fill, ACTIVE.stroke)
        assert drawn.badges("P_pay") == ["!"]

    def test_a_failed_one_alone_has_no_second_mark(self) -> None:
        assert Drawn(read_case(), Marks(items={"P_pay": {"failed": 1}})).badges("P_pay") == []


class TestCollapsed:
    def test_a_stage_shows_its_own_state_not_that_of_its_items(self) -> None:
        drawn = Drawn(CLOSED, Marks(items={"s": {"active": 1}, "t": {"completed": 1}}))
        assert badge(drawn, "s")[0] == "active"
        assert drawn.badges("s") == []

    def test_what_failed_in_it_is_told_on_it(self) -> None:
        drawn = Drawn(CLOSED, Marks(items={"s": {"active": 1}, "t": {"failed": 1}}))
        assert drawn.badges("s") == ["!"]
        assert drawn.root.findtext(f"{SVG}desc") == "Outer: active, failed"

    def test_an_incident_in_it_is_told_on_it(self) -> None:
        drawn = Drawn(CLOSED, Marks(items={"s": {"active": 1}}, incidents=frozenset({"t"})))
        assert drawn.look("s") == (BROKEN.fill, BROKEN.stroke)
        assert drawn.badges("s") == ["!"]


def test_the_states_are_named_in_the_words_of_the_reader() -> None:
    content = draw_diagram(read_case(), Marks(items={"P_pay": {"active": 2}}), MarkLabels(states={"active": "активна"}))
    assert content is not None
    assert "<title>активна: 2</title>" in content.decode()
    assert "Pay the customer: активна: 2" in content.decode()
