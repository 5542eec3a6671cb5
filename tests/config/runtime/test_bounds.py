from typing import Any

import pytest

from config.runtime.bounds import FieldBound, field_bounds
from tests.config.records.api.test_strictness import Callers, fill

pytestmark = [pytest.mark.django_db, pytest.mark.embedded]

FIELDS = list(field_bounds())


@pytest.mark.parametrize(
    "bound", FIELDS, ids=[f"{each.method} {each.path} {each.field} {each.rule}" for each in FIELDS]
)
def test_one_past_the_limit_of_a_field_is_refused_by_name(bound: FieldBound) -> None:
    one_more = int(bound.limit) + 1
    past: Any = one_more if bound.rule == "maximum" else ("x" if bound.rule == "maxLength" else [{}]) * one_more
    path = fill(bound.path.removeprefix("/api/v1"))
    if bound.place == "query":
        answer = Callers()(bound.method, f"{path}?{bound.field}={past}")
    else:
        versioned = {"version": 1} if path.startswith(("/messages/", "/exchange/")) else {}
        answer = Callers()(bound.method, path, versioned | {bound.field: past})
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid"), answer.content
    assert bound.field in answer.json()["data"]["fields"]
