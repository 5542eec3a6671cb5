"""Sign-in to the admin, within the limits of `sign_in_limits.py` and the slots of `passwords.py`."""

import math
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from django.core.exceptions import ValidationError
from django.utils import timezone
from django.utils.translation import ngettext

from config.access.known_browser import remember_browser
from config.access.passwords import PasswordsBusy, hashing_slot
from config.access.sign_in_limits import (
    Reservation,
    Visitor,
    clear_attempts,
    reserve_attempt,
    take_back_attempt,
)
from config.access.sign_in_log import record_failure, record_sign_in

if TYPE_CHECKING:
    from django.contrib.admin.forms import AdminAuthenticationForm as AuthenticationForm
else:
    from unfold.forms import AuthenticationForm


class SignInForm(AuthenticationForm):
    """The sign-in form of the admin, limited."""

    def clean(self) -> dict[str, Any]:
        name, password = self.cleaned_data.get("username"), self.cleaned_data.get("password")
        if not name or not password:
            return super().clean()
        now = timezone.now()
        visitor = Visitor.of(self.request, name)
        reservation = reserve_attempt(visitor, at=now)
        if not reservation.granted:
            raise ValidationError(_too_many(reservation), code="too_many_attempts")
        try:
            with hashing_slot():
                cleaned = super().clean()
        except PasswordsBusy as busy:
            take_back_attempt(visitor)
            raise ValidationError(busy.message, code="busy") from busy
        except ValidationError:
            record_failure(visitor, reservation, at=now)
            raise
        clear_attempts(visitor)
        record_sign_in(visitor, self.get_user())
        if self.request is not None:
            remember_browser(self.request, visitor.name)
        return cleaned


def _too_many(reservation: Reservation) -> str:
    minutes = max(1, math.ceil(reservation.wait / timedelta(minutes=1)))
    return ngettext(
        "Too many failed attempts. Try again in %(minutes)d minute.",
        "Too many failed attempts. Try again in %(minutes)d minutes.",
        minutes,
    ) % {"minutes": minutes}
