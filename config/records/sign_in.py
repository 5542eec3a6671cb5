"""Sign-in to the admin: ten failures per name and address in ten minutes, then the password is not looked at.

An attempt is counted before its password is checked and taken back by success, so guesses that arrive together cannot
pass the limit together.
"""

import math
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import ngettext

from config.common.sql import load
from config.records.models import SignInAttempt

if TYPE_CHECKING:
    from django.contrib.admin.forms import AdminAuthenticationForm as AuthenticationForm
else:
    from unfold.forms import AuthenticationForm

LIMIT = 10
WINDOW = timedelta(minutes=10)


class SignInForm(AuthenticationForm):
    """The sign-in form of the admin, limited."""

    def clean(self) -> dict[str, Any]:
        name, password = self.cleaned_data.get("username"), self.cleaned_data.get("password")
        if not name or not password:
            return super().clean()
        visitor = Visitor.of(self.request, name)
        reservation = reserve_attempt(visitor, at=timezone.now())
        if not reservation.granted:
            raise ValidationError(_too_many(reservation), code="too_many_attempts")
        cleaned = super().clean()
        forget_attempts(visitor)
        return cleaned


@dataclass(frozen=True)
class Visitor:
    """Whom the failures are counted for: a name, however it is spelt, at an address."""

    name: str
    address: str

    @classmethod
    def of(cls, request: HttpRequest | None, name: str) -> "Visitor":
        address = request.META.get("REMOTE_ADDR", "") if request is not None else ""
        return cls(name=name.strip().casefold()[:150], address=address[:45])


@dataclass(frozen=True)
class Reservation:
    granted: bool
    wait: timedelta


def reserve_attempt(visitor: Visitor, *, at: datetime) -> Reservation:
    """Count one attempt and tell whether its password may be checked."""
    values = {
        "name": visitor.name,
        "address": visitor.address,
        "limit": LIMIT,
        "at": at,
        "ends_at": at + WINDOW,
    }
    with transaction.atomic():
        attempt = SignInAttempt.objects.raw(load("config.records", "reserve_sign_in"), values)[0]
    return Reservation(granted=attempt.failures <= LIMIT, wait=attempt.window_ends_at - at)


def forget_attempts(visitor: Visitor) -> None:
    """Take back what was counted: the person knew the password."""
    SignInAttempt.objects.filter(name=visitor.name, address=visitor.address).delete()


def _too_many(reservation: Reservation) -> str:
    minutes = max(1, math.ceil(reservation.wait / timedelta(minutes=1)))
    return ngettext(
        "Too many failed attempts. Try again in %(minutes)d minute.",
        "Too many failed attempts. Try again in %(minutes)d minutes.",
        minutes,
    ) % {"minutes": minutes}
