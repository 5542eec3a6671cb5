from typing import Any

import pytest
from django.utils.translation import override

from config.common.wording import fill, text_within


class TestTextWithin:
    def test_is_filled_with_its_own_details(self) -> None:
        inner = text_within("%(engine)s is away", {"engine": "Redis"})
        assert fill("Over: %(alert)s. %(reason)s", {"alert": inner, "reason": ""}) == "Over: Redis is away."

    def test_speaks_the_language_of_the_reader(self) -> None:
        with override("ru"):
            assert fill("%(what)s", {"what": text_within("Alerts", {})}) == "Оповещения"

    @pytest.mark.parametrize("odd", [{"text": 1, "detail": {}}, {"text": "x", "detail": "y"}, {"text": "x"}])
    def test_what_only_looks_like_one_harms_nothing(self, odd: Any) -> None:
        assert fill("%(what)s", {"what": odd}) == str(odd)
