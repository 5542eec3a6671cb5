"""What an instance is found by, derived from its state: the elements where it stands and its short variables.

Pure: the difference of the terms of two states is what a step writes.
"""

from typing import Any

from config.common.text import is_storable
from processes.workflows.engine.runner import InstanceState
from processes.workflows.engine.state_queries import get_variables, is_active_item
from processes.workflows.models.instance import ENDED

MOST_ELEMENTS = 100
MOST_VARIABLES = 100
LONGEST_VALUE = 200
"""Characters: a longer text is no term, for what is cut would be found by what it is not."""
LONGEST_ELEMENT = 200


def list_terms(state: InstanceState | None) -> list[str]:
    """Return the terms of a state, none of one that has ended."""
    if state is None or state["status"] in ENDED:
        return []
    return [*_list_elements(state), *_list_variables(state)]


def element_term(element: str) -> str:
    return f"element:{element[:LONGEST_ELEMENT]}"


def variable_term(name: str, value: Any) -> str | None:
    """Return the term of a variable; None of a value that instances are not found by: a list, a map, a long text."""
    text = _as_text(value)
    if text is None or len(text) > LONGEST_VALUE or not is_storable(text):
        return None
    return f"variable:{name}={text}"


def _list_elements(state: InstanceState) -> list[str]:
    # As `active` of an instance has them: of a token with a loop the rounds have tokens of their own.
    standing: dict[str, None] = {}
    for token in (state.get("tokens") or {}).values():
        if "loop" not in token:
            standing[token["element"]] = None
    for item in (state.get("items") or {}).values():
        if is_active_item(item):
            standing[item["element"]] = None
    return [element_term(element) for element in list(standing)[:MOST_ELEMENTS]]


def _list_variables(state: InstanceState) -> list[str]:
    variables = get_variables(state)
    terms: list[str] = []
    for name in variables:
        # Not by the map's own look-up, which would decode large values; those are no terms.
        term = variable_term(name, dict.__getitem__(variables, name))
        if term is not None:
            terms.append(term)
        if len(terms) == MOST_VARIABLES:
            break
    return terms


def _as_text(value: Any) -> str | None:
    """Return a scalar as a person would type it: the number 5 and the text "5" are found alike."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 2**53 else repr(value)
    return None
