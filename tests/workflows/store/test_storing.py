from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from processes.workflows.services.storing import SMALL, WHOLE, Stored, join, split

BIG = "x" * 3000
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.text(max_size=20) | st.just(BIG),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["a", "$", "$$", "b"]), inner, max_size=4)
    ),
    max_leaves=12,
)


def split_any(state: Any) -> Stored:
    return split(state)


class TestSplit:
    def test_a_small_state_stays_in_one_piece(self) -> None:
        stored = split({"kind": "bpmn", "next": 1})
        assert (stored.skeleton, stored.bodies) == ('{"kind":"bpmn","next":1}', {})

    def test_what_has_not_changed_is_kept_once(self) -> None:
        one, two = (split_any({"next": n, "scopes": {"0.1": {"variables": {"big": BIG, "n": n}}}}) for n in (1, 2))
        assert one.skeleton != two.skeleton
        assert len(one.bodies.keys() & two.bodies.keys()) == 1

    def test_a_change_costs_what_has_changed(self) -> None:
        many = {f"v{n}": "y" * (SMALL + n) for n in range(20)}
        one = split_any({"scopes": {"0.1": {"variables": many}}})
        two = split_any({"scopes": {"0.1": {"variables": {**many, "v3": "z" * 600}}}})
        new = [body for digest, body in two.bodies.items() if digest not in one.bodies]
        assert sum(map(len, new)) < 3 * WHOLE

    @settings(max_examples=50)
    @given(JSON)
    def test_nothing_is_lost(self, value: Any) -> None:
        state: Any = {"scopes": {"0.1": {"variables": {"v": value, "w": [value]}}}, "filler": BIG}
        stored = split(state)
        assert join(stored.skeleton, stored.bodies) == state

    def test_the_order_of_keys_stays(self) -> None:
        state: Any = {"tokens": {"0.10": {"x": BIG}, "0.9": {}, "0.2": {}}}
        stored = split(state)
        assert list(join(stored.skeleton, stored.bodies)["tokens"]) == ["0.10", "0.9", "0.2"]

    @pytest.mark.parametrize("name", ["$", "$$", "$x"])
    def test_names_like_ours_are_told_apart(self, name: str) -> None:
        state: Any = {"scopes": {"0.1": {"variables": {name: "text"}}}}
        stored = split(state)
        assert join(stored.skeleton, stored.bodies) == state
