"""What the page of a party shows beside its form: what it belongs to, what it has, its changes."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Model
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext

from config.admin_base.pages import active_badge, badge, recent_changes
from config.admin_base.times import ago_element
from config.records.models import AccessKey, ChangeRecord
from messaging.models import Enterprise, ExchangeDatabase, LastRequest


@dataclass(frozen=True)
class Fact:
    label: str
    value: object
    link: str = ""
    note: str = ""


@dataclass(frozen=True)
class PartyPage:
    party_id: str
    facts: Sequence[Fact]
    changes: list[ChangeRecord] | None
    """None for those who may not see them."""


def build_party_page(request: HttpRequest, kind: str, party: Model, facts: Sequence[Fact]) -> PartyPage:
    may_see = request.user.has_perm("records.view_changerecord")
    changes = recent_changes(request, kind, str(party.pk)) if may_see else None
    return PartyPage(str(party.pk), facts, changes)


def state_badge(active: bool, enterprise: Enterprise) -> str:
    """Return a badge: whether the keys of a device or database are accepted."""
    if active and not enterprise.active:
        return badge(gettext("enterprise inactive"), "warning")
    return active_badge(active)


def state_fact(active: bool, enterprise: Enterprise | None = None) -> Fact:
    shown = active_badge(active) if enterprise is None else state_badge(active, enterprise)
    return Fact(gettext("State"), shown)


def party_fact(label: str, party: Model) -> Fact:
    """Return the owner of a party, with a link to its page."""
    page = f"admin:{party._meta.app_label}_{party._meta.model_name}_change"
    return Fact(label, party, reverse(page, args=[party.pk]), note=str(party.pk))


def number_fact(label: str, number: int, model: type[Model], *, narrowed: str) -> Fact:
    """Return the number of what belongs to a party, with a link to the filtered list."""
    page = f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist"
    return Fact(label, number, f"{reverse(page)}?{narrowed}")


def key_fact(request: HttpRequest, kind: str, party_id: str) -> Fact:
    """Return how many keys of a device or database work."""
    keys = AccessKey.objects.filter(kind=kind, subject=party_id, ended_at=None).exclude(expires_at__lte=timezone.now())
    link = f"{reverse('admin:records_accesskey_changelist')}?q={party_id}"
    return Fact(gettext("Active keys"), keys.count(), link if request.user.has_perm("records.view_accesskey") else "")


def request_fact(database: ExchangeDatabase) -> Fact:
    """Return when a database last asked for messages, and what it was answered."""
    label = gettext("Last request for messages")
    last = LastRequest.objects.filter(database=database).first()
    if last is None:
        return Fact(label, gettext("none recorded"))
    return Fact(label, ago_element(last.asked_at), note=f"{last.get_answer_display()} ({last.answer})")
