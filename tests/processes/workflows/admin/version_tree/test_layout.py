"""Numbers stand for versions; a plain one was made from the one before it."""

import time

from processes.workflows.admin.version_tree.layout import MOST_BRANCHES, MOST_ROWS, NEWEST, Node, lay_out


def rows(nodes: list[Node]) -> dict[int, int]:
    return {node.number: node.row for node in nodes}


class TestLayOut:
    def test_without_a_return_there_is_one_line(self) -> None:
        assert lay_out(3, {}) == [Node(1, 0, None, 0), Node(2, 0, 1, 0), Node(3, 0, 2, 0)]

    def test_what_a_return_has_left_lies_below_the_line_of_the_head(self) -> None:
        nodes = lay_out(5, {4: 1})
        assert rows(nodes) == {1: 0, 2: 1, 3: 1, 4: 0, 5: 0}
        assert [node.parent for node in nodes] == [None, 1, 2, 1, 4]

    def test_branches_that_are_there_at_the_same_time_have_rows_of_their_own(self) -> None:
        assert rows(lay_out(7, {4: 1, 6: 1})) == {1: 0, 2: 1, 3: 1, 4: 2, 5: 2, 6: 0, 7: 0}

    def test_a_row_is_used_again(self) -> None:
        assert rows(lay_out(7, {4: 2, 7: 5})) == {1: 0, 2: 0, 3: 1, 4: 0, 5: 0, 6: 1, 7: 0}

    def test_a_return_into_an_abandoned_branch_makes_it_the_line_of_the_head(self) -> None:
        assert rows(lay_out(6, {4: 1, 6: 3})) == {1: 0, 2: 0, 3: 0, 4: 1, 5: 1, 6: 0}

    def test_of_a_long_line_the_newest_and_the_first_are_drawn(self) -> None:
        nodes = lay_out(100_000, {})
        assert len(nodes) == NEWEST + 1
        assert (nodes[1].number, nodes[1].parent, nodes[1].hidden) == (99_961, 1, 99_959)

    def test_every_version_around_a_return_is_drawn_however_long_ago(self) -> None:
        nodes = {node.number: node for node in lay_out(100_000, {501: 40})}
        assert {1, 40, 500, 501} <= set(nodes)
        assert (nodes[500].parent, nodes[500].hidden, nodes[500].row) == (40, 459, 1)
        assert (nodes[501].parent, nodes[501].hidden, nodes[501].row) == (40, 0, 0)

    def test_a_line_across_a_return_that_is_not_drawn_counts_what_it_passes(self) -> None:
        # 10 was made from 4, so 20 has 1 to 4 and 10 to 19 before it.
        old = {10: 4} | {number: number - 5 for number in range(1000, 1000 + 10 * MOST_BRANCHES, 10)}
        nodes = {node.number: node for node in lay_out(2000, old)}
        assert 10 not in nodes
        assert (nodes[995].parent, nodes[995].hidden) == (1, 995 - 10 + 3)

    def test_many_returns_are_bounded_in_size_and_time(self) -> None:
        returns = {number: 1 for number in range(3, 2003, 2)}
        began = time.process_time()
        nodes = lay_out(100_000, returns)
        assert time.process_time() - began < 0.5
        assert len(nodes) <= NEWEST + 3 * MOST_BRANCHES + 1
        assert max(node.row for node in nodes) <= MOST_ROWS
