"""Tokens and incidents on a drawing."""

from processes.workflows.engine.diagram import MarkLabels, Marks, draw_diagram
from processes.workflows.engine.diagram.colours import ACTIVE, BROKEN, FINISHED, PLAIN
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
