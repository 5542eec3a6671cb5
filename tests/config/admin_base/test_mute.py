from datetime import timedelta

import pytest
from django.utils import timezone

from config.admin_base.mute import LONGEST, MuteForm, is_muted, muted_badge


class TestMuteForm:
    @pytest.mark.parametrize(("length", "hours"), [("1h", 1), ("8h", 8)])
    def test_gives_the_end_of_a_mute(self, length: str, hours: int) -> None:
        form = MuteForm({"length": length})
        assert form.is_valid()
        assert abs(form.cleaned_data["muted_until"] - timezone.now() - timedelta(hours=hours)) < timedelta(seconds=5)

    def test_ends_a_mute(self) -> None:
        form = MuteForm({"length": "end", "until": ""})
        assert form.is_valid()
        assert form.cleaned_data["muted_until"] is None

    def test_takes_a_time_within_a_year_and_no_later_one(self) -> None:
        def ask(ahead: timedelta) -> bool:
            until = timezone.localtime(timezone.now() + ahead)
            return MuteForm({"length": "until", "until": f"{until:%Y-%m-%dT%H:%M}"}).is_valid()

        assert ask(LONGEST - timedelta(minutes=2))
        assert not ask(LONGEST + timedelta(minutes=2))
        assert not ask(-timedelta(minutes=2))

    @pytest.mark.parametrize("until", ["", "soon", "2026-99-99T00:00"])
    def test_wants_a_time_where_it_goes_by_one(self, until: str) -> None:
        assert "until" in MuteForm({"length": "until", "until": until}).errors


class TestMutedBadge:
    def test_is_there_as_long_as_the_mute(self) -> None:
        now = timezone.now()
        assert "muted until <time" in muted_badge(now + timedelta(minutes=1))
        assert muted_badge(now - timedelta(minutes=1)) == muted_badge(None) == ""
        assert (is_muted(now + timedelta(minutes=1)), is_muted(now), is_muted(None)) == (True, False, False)
