import time
import uuid
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest
from django.utils.translation import gettext_lazy
from rest_framework.exceptions import ErrorDetail

from config.common.web import json_codec
from config.common.web.json_codec import DEEPEST, BadJson, check_bounds, decode_json, encode_json


class TestDecode:
    @pytest.mark.parametrize(
        ("text", "value"),
        [
            (b'{"a": [1, 2.5, null, true, "\xd0\xb6"]}', {"a": [1, 2.5, None, True, "ж"]}),
            (rb'"\\u0000"', "\\u0000"),
            (rb'"\ud83d\ude00"', "😀"),
            (b"[" * DEEPEST + b"]" * DEEPEST, None),
        ],
    )
    def test_reads_json(self, text: bytes, value: Any) -> None:
        assert value in (None, decode_json(text))

    @pytest.mark.parametrize(
        ("text", "place"),
        [
            (b"", {"line": 1, "column": 1}),
            (b'{"a": 1,}', {"line": 1, "column": 9}),
            (b'{\n  "a": @\n}', {"line": 2, "column": 8}),
            (b"NaN", {"line": 1, "column": 1}),
            (b"[1e999]", {}),
            (b"1" * 5000, {}),
            (b'"\xff"', {}),
            (rb'"\ud800"', {"line": 1, "column": 9}),
            (b'\xef\xbb\xbf{"a": 1}', {"line": 1, "column": 1}),
            (rb'{"a": ["x\u0000"]}', {"line": 1, "column": 10}),
            (rb'{"\u0000": 1}', {"line": 1, "column": 3}),
            (rb'["\\u0000\\\u0000"]', {"line": 1, "column": 12}),
            (b"[" * 100_000, {"deepest": DEEPEST}),
            (b"[" * (DEEPEST + 1) + b"]" * (DEEPEST + 1), {"deepest": DEEPEST}),
            (b'{"a":' * 300 + b"1" + b"}" * 300, {"deepest": DEEPEST}),
        ],
    )
    def test_refuses_anything_else_and_names_the_place(self, text: bytes, place: dict[str, int]) -> None:
        with pytest.raises(BadJson) as refused:
            decode_json(text)
        assert (refused.value.code, refused.value.status, refused.value.data) == ("bad_json", 400, place)

    def test_many_shallow_values_are_not_deep(self) -> None:
        assert len(decode_json(b"[" + b"[]," * 999 + b"[]]")) == 1000


class TestBounds:
    """One past each bound is refused, and strings count as one value whatever stands in them."""

    @pytest.mark.parametrize(
        ("name", "most", "unit", "units"),
        [
            ("MOST_CONTAINERS", 300, b"[]", 299),  # and the list around them
            ("MOST_CONTAINERS", 300, b'{"[{":"\\\\"}', 299),
            ("MOST_VALUES", 600, b"7", 600),
        ],
    )
    def test_takes_so_many_and_not_one_more(
        self, name: str, most: int, unit: bytes, units: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(json_codec, name, most)
        assert len(decode_json(b"[" + b",".join([unit] * units) + b"]")) == units
        with pytest.raises(BadJson, match=str(most)) as refused:
            decode_json(b"[" + b",".join([unit] * (units + 1)) + b"]")
        assert refused.value.data == {name.lower(): most}

    @pytest.mark.parametrize("text", [rb'"[[[{{,,\"[[[\\"', rb'{"[\"[":",,,[[\\\""}', b'"' + b"[{," * 1000 + b'"'])
    def test_brackets_and_commas_in_strings_are_text(self, text: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(json_codec, "MOST_CONTAINERS", 1)
        monkeypatch.setattr(json_codec, "MOST_VALUES", 2)
        assert decode_json(text)

    def test_the_deepest_place_is_found_wherever_it_stands(self) -> None:
        flat = b"[]," * 100_000
        deepest, deeper = (b"[" + flat + b"[" * more + b"]" * more + b"]" for more in (DEEPEST - 1, DEEPEST))
        check_bounds(deepest)
        with pytest.raises(BadJson):
            check_bounds(deeper)

    def test_many_strings_are_counted_before_they_are_told_apart(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(json_codec, "MOST_VALUES", 300)
        for strings, is_refused in ((600, False), (601, True)):
            text = b'["' + b"," * 301 + b'"' + b'""' * (strings - 1) + b"]"
            with pytest.raises(BadJson, match="300 values") if is_refused else nullcontext():
                check_bounds(text)

    @pytest.mark.parametrize("unit", [b"[]", b"[[[]]]", b'{"a":1}'])
    def test_a_whole_message_of_brackets_costs_little_time_and_no_memory(self, unit: bytes) -> None:
        text = b"[" + b",".join([unit] * (19_000_000 // (len(unit) + 1))) + b"]"
        began = time.process_time()
        with pytest.raises(BadJson, match="lists and objects"):
            decode_json(text)
        assert time.process_time() - began < 1  # it took three seconds and a gigabyte to read; a tenth of one to count


class TestEncode:
    @pytest.mark.parametrize(
        ("value", "text"),
        [
            (datetime(2026, 1, 31, 23, 59, 59, 999_999, tzinfo=UTC), b'"2026-01-31T23:59:59.999Z"'),
            (datetime(2026, 1, 1, tzinfo=UTC), b'"2026-01-01T00:00:00.000Z"'),
            (datetime(2026, 1, 1, 3, tzinfo=timezone(timedelta(hours=3))), b'"2026-01-01T00:00:00.000Z"'),
            (Decimal("1.10"), b'"1.10"'),
            (uuid.UUID(int=1), b'"00000000-0000-0000-0000-000000000001"'),
            (gettext_lazy("name"), b'"name"'),
            (ErrorDetail("text", code="x"), b'"text"'),
            (float("nan"), b"null"),
            ({"a": ({1: "ж"}, None, True)}, '{"a":[{"1":"ж"},null,true]}'.encode()),
        ],
    )
    def test_writes_the_contracts_json(self, value: Any, text: bytes) -> None:
        assert encode_json(value) == text

    def test_writes_what_it_has_read_however_deep(self) -> None:
        deepest = b"[" * DEEPEST + b"]" * DEEPEST
        assert encode_json(decode_json(deepest)) == deepest
