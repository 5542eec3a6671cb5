"""How many passwords may be tried: per network, per name at a network, per name, and overall.

An attempt is counted before its password is checked and taken back by success, so guesses that arrive together cannot
pass a limit together. What is refused by one counter is not counted by those after it: whoever runs against the limit
of one network uses up nothing of what others have.

What a stranger can lock: from one network, the browsers of that network that have not signed in before; with the
addresses of ten networks, one name; with those of twenty, everybody who signs in for the first time, for as long as it
goes on. A browser that has signed in as that name (`known_browser.py`) is counted by itself alone: nobody else's
failures keep its owner out.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.http import HttpRequest

from config.access.known_browser import find_known_browser
from config.common.database.sql import load_sql
from config.common.web.networks import network_of
from config.records.models import SignInAttempt

WINDOW = timedelta(minutes=10)
LIMIT = 10
"""Failures of one name from one network, or from a browser that is known."""
NETWORK_LIMIT = 50
NAME_LIMIT = 100
OVERALL_WINDOW = timedelta(minutes=1)
OVERALL_LIMIT = 100

FORM_RATE, FORM_BURST = 1.0, 20
"""Forms a second that are looked at, from one network or a browser that is known, as in the shipped configuration of
nginx: each costs a page, whatever it is answered."""

EVERYWHERE = ""
"""Stands for any network and any name in a counter; neither is ever empty."""


@dataclass(frozen=True)
class Counter:
    """What failures are counted together: a name at a network, or all of one of them, or all."""

    name: str
    address: str
    limit: int
    window: timedelta = WINDOW


@dataclass(frozen=True)
class Visitor:
    """Who tries: a name, however it is spelt, from a network, perhaps with a browser that has signed in before."""

    name: str
    network: str
    browser: str | None = None

    @classmethod
    def of(cls, request: HttpRequest | None, name: str) -> "Visitor":
        name = name.strip().casefold()[:150]
        if request is None:
            return cls(name=name, network=network_of(""))
        browser = find_known_browser(request, name)
        return cls(name=name, network=network_of(request.META.get("REMOTE_ADDR", "")), browser=browser)

    @property
    def counters(self) -> tuple[Counter, ...]:
        """Name the counters in the order in which their rows are locked, the same for everybody."""
        if self.browser is not None:
            return (Counter(self.name, f"browser {self.browser}", LIMIT),)
        return (
            Counter(EVERYWHERE, self.network, NETWORK_LIMIT),
            Counter(self.name, self.network, LIMIT),
            Counter(self.name, EVERYWHERE, NAME_LIMIT),
            Counter(EVERYWHERE, EVERYWHERE, OVERALL_LIMIT, OVERALL_WINDOW),
        )


@dataclass(frozen=True)
class Reservation:
    granted: bool
    wait: timedelta
    reached: tuple[Counter, ...] = ()
    """The counters that are full with this attempt: if it fails, they lock."""


def reserve_attempt(visitor: Visitor, *, at: datetime) -> Reservation:
    """Count one attempt; return whether its password may be checked."""
    refusal = _find_full(visitor.counters, at)
    if refusal is not None:
        return refusal
    reached = []
    with transaction.atomic():
        for counter in visitor.counters:
            attempt = _count(counter, at)
            if attempt.failures > counter.limit:
                return _refusal(attempt, at)
            if attempt.failures == counter.limit:
                reached.append(counter)
    return Reservation(granted=True, wait=attempt.window_ends_at - at, reached=tuple(reached))


def take_back_attempt(visitor: Visitor) -> None:
    """Take one attempt off the counters: its password was not checked, or was right."""
    for counter in visitor.counters:
        _rows([counter]).filter(failures__gt=0).update(failures=F("failures") - 1)


def clear_attempts(visitor: Visitor) -> None:
    """Reset the counters of this name at this network or browser: the person knew the password.

    What others share is given back one attempt alone: an account of one's own must not pay for guesses at another.
    """
    take_back_attempt(visitor)
    _rows([counter for counter in visitor.counters if counter.name and counter.address]).delete()


def _find_full(counters: tuple[Counter, ...], at: datetime) -> Reservation | None:
    """Return the refusal of a full counter, found without a write: a flood of made-up names leaves no rows."""
    rows = {(row.name, row.address): row for row in _rows(counters).filter(window_ends_at__gt=at)}
    for counter in counters:
        row = rows.get((counter.name, counter.address))
        if row is not None and row.failures >= counter.limit:
            return _refusal(row, at)
    return None


def _count(counter: Counter, at: datetime) -> SignInAttempt:
    values = {
        "name": counter.name,
        "address": counter.address,
        "limit": counter.limit,
        "at": at,
        "ends_at": at + counter.window,
    }
    return SignInAttempt.objects.raw(load_sql("config.access", "reserve_sign_in"), values)[0]


def _refusal(row: SignInAttempt, at: datetime) -> Reservation:
    return Reservation(granted=False, wait=row.window_ends_at - at)


def _rows(counters: Iterable[Counter]) -> QuerySet[SignInAttempt]:
    chosen = Q(pk__in=[])
    for counter in counters:
        chosen |= Q(name=counter.name, address=counter.address)
    return SignInAttempt.objects.filter(chosen)
