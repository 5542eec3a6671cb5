from typing import Any

import pytest
from django.utils.translation import override

from config.common.text_templates import nested_text, render_text


class TestTextWithin:
    def test_is_filled_with_its_own_details(self) -> None:
        inner = nested_text("%(engine)s is away", {"engine": "Redis"})
        assert render_text("Over: %(alert)s. %(reason)s", {"alert": inner, "reason": ""}) == "Over: Redis is away."

    def test_speaks_the_language_of_the_reader(self) -> None:
        with override("ru"):
            assert render_text("%(what)s", {"what": nested_text("Alerts", {})}) == "Оповещения"

    @pytest.mark.parametrize("odd", [{"text": 1, "detail": {}}, {"text": "x", "detail": "y"}, {"text": "x"}])
    def test_what_only_looks_like_one_harms_nothing(self, odd: Any) -> None:
        assert render_text("%(what)s", {"what": odd}) == str(odd)
