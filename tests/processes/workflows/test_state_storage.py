from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from processes.workflows.state_storage import SMALL, WHOLE, LazyVariables, StoredState, join_state, split_state

BIG = "x" * 3000
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.text(max_size=20) | st.just(BIG),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["a", "$", "$$", "b"]), inner, max_size=4)
    ),
    max_leaves=12,
)


def split_any(state: Any) -> StoredState:
    return split_state(state)


def kept(**variables: Any) -> LazyVariables:
    """Variables as they come back from where they are kept."""
    stored = split_any({"scopes": {"0.1": {"variables": variables, "filler": BIG}}})
    found = join_state(stored.skeleton, stored.bodies)["scopes"]["0.1"]["variables"]
    assert isinstance(found, LazyVariables)
    return found


def is_text(variables: LazyVariables, name: str) -> bool:
    return type(dict.__getitem__(variables, name)) is msgspec.Raw


class TestLazyVariables:
    @pytest.mark.parametrize("value", [BIG, [BIG], {"a": {"b": [BIG, BIG]}}, [[["x" * 300] * 3] * 3] * 3])
    def test_what_is_large_stays_text_until_it_is_asked_for(self, value: Any) -> None:
        variables = kept(large=value, small=1)
        assert [is_text(variables, "large"), variables["small"]] == [True, 1]
        assert variables["large"] == value
        assert not is_text(variables, "large")

    def test_a_copy_keeps_the_text_and_its_own_values(self) -> None:
        variables = kept(large=BIG, small=1)
        copy = variables.copy()
        copy["small"] = 2
        assert [is_text(copy, "large"), variables["small"], copy["small"]] == [True, 1, 2]

    @pytest.mark.parametrize("read", [dict, lambda variables: {**variables}, lambda variables: dict(variables.items())])
    def test_every_way_of_reading_gives_values(self, read: Any) -> None:
        assert read(kept(large=BIG, small=1)) == {"large": BIG, "small": 1}
        assert list(kept(large=BIG, small=1).values()) == [BIG, 1]
        assert [kept(large=BIG).get("large"), kept(large=BIG).get("other", 3)] == [BIG, 3]

    def test_a_variable_with_another_value_is_stored_anew(self) -> None:
        variables = kept(large=BIG, other=BIG + "x")
        variables["large"] = "y" * 3000
        stored = split_any({"scopes": {"0.1": {"variables": variables}}})
        joined: Any = join_state(stored.skeleton, stored.bodies)
        assert joined["scopes"]["0.1"]["variables"] == {"large": "y" * 3000, "other": BIG + "x"}


class TestSplitState:
    def test_a_small_state_stays_in_one_piece(self) -> None:
        stored = split_state({"kind": "bpmn", "next": 1})
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
        stored = split_state(state)
        joined = join_state(stored.skeleton, stored.bodies)
        assert msgspec.json.decode(msgspec.json.encode(joined)) == state
        assert split_state(joined) == stored
        assert joined == state
        assert split_state(joined) == stored

    def test_the_order_of_keys_stays(self) -> None:
        state: Any = {"tokens": {"0.10": {"x": BIG}, "0.9": {}, "0.2": {}}}
        stored = split_state(state)
        assert list(join_state(stored.skeleton, stored.bodies)["tokens"]) == ["0.10", "0.9", "0.2"]

    @pytest.mark.parametrize("name", ["$", "$$", "$x"])
    def test_names_like_ours_are_told_apart(self, name: str) -> None:
        state: Any = {"scopes": {"0.1": {"variables": {name: "text"}}}}
        stored = split_state(state)
        assert join_state(stored.skeleton, stored.bodies) == state
