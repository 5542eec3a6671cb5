from typing import Any

import pytest
from django.utils.translation import override

from config.common.text_templates import nested_text, render_text


class TestTextWithin:
    def test_is_filled_with_its_own_details(self) -> None:
        inner = nested_text("%(engine)s is away", {"engine": "Redis"})
        assert render_text("Closed: %(alert)s. %(reason)s", {"alert": inner, "reason": ""}) == "Closed: Redis is away."

    def test_speaks_the_language_of_the_reader(self) -> None:
        with override("ru"):
            assert render_text("%(what)s", {"what": nested_text("Alerts", {})}) == "Оповещения"

    @pytest.mark.parametrize("odd", [{"text": 1, "detail": {}}, {"text": "x", "detail": "y"}, {"text": "x"}])
    def test_what_only_looks_like_one_harms_nothing(self, odd: Any) -> None:
        assert render_text("%(what)s", {"what": odd}) == str(odd)


class TestTextOfAnEarlierVersion:
    def test_reads_as_it_is_said_today(self) -> None:
        detail = {"receiver": "Granit", "reason": "no answer for three days"}
        assert render_text("%(receiver)s was switched off: %(reason)s", detail) == (
            "Granit was disabled: no response for three days"
        )
        with override("ru"):
            assert render_text("it answers again", {}) == "снова отвечает"
