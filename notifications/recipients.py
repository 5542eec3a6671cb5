"""Who is told of alerts: the recipients of the escalation, as accounts and settings are now."""

from dataclasses import dataclass

from django.conf import settings
from django.contrib.auth.models import User

from notifications.models import Rung


def find_recipients(rung: Rung) -> list[str]:
    """Return the addresses of a rung."""
    found = list[str]()
    if rung.to_superusers:
        people = User.objects.filter(is_superuser=True, is_active=True).exclude(email="").order_by("pk")
        found += people.values_list("email", flat=True)
    if rung.to_administrator:
        own = settings.ADMIN_EMAIL if rung.channel == Rung.Channel.EMAIL else settings.ADMIN_PHONE
        found += [own] if own else []
    found += split_addresses(rung.addresses)
    return list(dict.fromkeys(found))


def split_addresses(addresses: str) -> list[str]:
    return addresses.replace(",", " ").replace(";", " ").split()


@dataclass(frozen=True)
class Reach:
    """Whether an alert would reach anybody; where it would not, the first thing that is missing."""

    has_rungs: bool
    has_recipients: bool
    has_channel: bool

    @property
    def reaches_anybody(self) -> bool:
        return self.has_rungs and self.has_recipients and self.has_channel


def find_reach() -> Reach:
    rungs = list(Rung.objects.filter(active=True))
    named = [rung for rung in rungs if find_recipients(rung)]
    return Reach(bool(rungs), bool(named), any(is_channel_set(rung.channel) for rung in named))


def is_channel_set(channel: str) -> bool:
    """Return whether a channel leads out of the house: without its variable, texts go to the console."""
    if channel == Rung.Channel.EMAIL:
        return not settings.EMAIL_BACKEND.endswith("console.EmailBackend")
    return bool(settings.SMS_URL)
