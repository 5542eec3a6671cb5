from dataclasses import replace
from typing import Any

import pytest
from django.contrib.auth.models import User

from config.environment.rules import BadVariable
from config.runtime.preparation import _ensure_admin


@pytest.mark.embedded
@pytest.mark.django_db
class TestEnsureAdmin:
    @pytest.mark.parametrize("password", ["a", "password12", "1q2w3e4r5t"])
    def test_a_password_that_no_account_may_have_stops_the_start(self, settings: Any, password: str) -> None:
        settings.ENV = replace(settings.ENV, admin_password=password)
        with pytest.raises(BadVariable, match=r"^ADMIN_PASSWORD: ") as refused:
            _ensure_admin()
        assert "\n" not in str(refused.value)
        assert not User.objects.exists()

    def test_a_good_one_is_taken_and_not_shown(self, settings: Any) -> None:
        settings.ENV = replace(settings.ENV, admin_password="correct-horse-battery")
        assert _ensure_admin() is None
        assert User.objects.get().check_password("correct-horse-battery")

    def test_once_there_is_an_admin_it_is_not_looked_at(self, settings: Any) -> None:
        User.objects.create_superuser("olga")
        settings.ENV = replace(settings.ENV, admin_password="a")
        assert _ensure_admin() is None
