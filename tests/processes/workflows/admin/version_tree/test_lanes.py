"""Numbers stand for versions; a plain one was made from the one before it."""

from collections.abc import Mapping

from processes.workflows.admin.version_tree.lanes import MOST_LANES, Row, draw_tree


def draw(head: int, returns: Mapping[int, int], *, top: int | None = None, bottom: int = 1) -> list[Row]:
    numbers = range(top or head, bottom - 1, -1)
    versions = [(number, returns.get(number, number - 1 or None)) for number in numbers]
    return draw_tree(versions, head=head, returns=returns)


def cells(rows: list[Row]) -> dict[int, list[str]]:
    return {row.number: row.cells for row in rows}


class TestDrawTree:
    def test_without_a_return_there_is_one_line(self) -> None:
        assert cells(draw(3, {})) == {3: ["down node"], 2: ["up down node"], 1: ["up node"]}

    def test_nothing_is_nothing(self) -> None:
        assert draw_tree([], head=0, returns={}) == []

    def test_a_return_leaves_a_branch_beside_the_line(self) -> None:
        rows = draw(4, {4: 1})
        assert cells(rows) == {
            4: ["down node"],
            3: ["up down", "down node"],
            2: ["up down", "up down node"],
            1: ["up node right", "up left"],
        }
        assert [row.number for row in rows if row.is_current] == [4, 1]

    def test_a_line_is_crossed_by_one_that_joins(self) -> None:
        rows = draw(6, {4: 2, 6: 2})
        assert cells(rows)[2] == ["up down node right", "up right left", "up left"]
        assert [row.number for row in rows if row.is_current] == [6, 2, 1]

    def test_a_lane_is_used_again(self) -> None:
        rows = draw(7, {4: 2, 7: 5})
        assert [len(row.cells) for row in rows] == [1, 2, 2, 1, 2, 2, 1]

    def test_a_page_in_the_middle_goes_on_where_the_one_above_ended(self) -> None:
        returns = {5: 2, 9: 4, 12: 7}
        whole = draw(14, returns)
        for top in range(13, 0, -1):
            page = draw(14, returns, top=top)
            assert [(row.number, row.is_current) for row in page] == [
                (row.number, row.is_current) for row in whole if row.number <= top
            ]
            assert all("node" in " ".join(row.cells) for row in page)

    def test_what_has_no_room_stands_in_the_last_lane(self) -> None:
        returns = {number: 1 for number in range(3, 30)}
        rows = draw(29, returns)
        assert {len(row.cells) for row in rows} == set(range(1, MOST_LANES + 1))
        assert all(any("node" in cell for cell in row.cells) for row in rows)
