"""The ladder of escalation: its rungs, the recipients of each, and how staff change them."""

import re
from collections.abc import Iterable
from typing import Any

from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import transaction
from django.db.models import F
from django.db.models.functions import Now
from django.utils.translation import gettext

from config.audit.changes import record_change
from config.common.background.ring import ring
from config.common.errors import Invalid
from config.records.models import ChangeRecord
from notifications.models import Alert, Endpoint, Rung
from notifications.recipients import find_recipients, split_addresses

KIND = "rung"
FIELDS = ("after_seconds", "channel", "to_superusers", "to_administrator", "addresses", "active")
LONGEST = 30 * 86_400
PHONE = re.compile(r"\+?[0-9]{5,15}")

_SCHEMES = {Rung.Channel.EMAIL.value: "mailto", Rung.Channel.SMS.value: "sms"}


def lock_active_rungs(*, after: int | None) -> list[Rung]:
    """Return the rungs after the last notified one, in their order.

    Locked, so that of two processes that escalate one creates the endpoint of a new address.
    """
    rungs = Rung.objects.select_for_update().filter(active=True).order_by("after_seconds", "id")
    return [rung for rung in rungs if after is None or rung.after_seconds > after]


def ensure_endpoints(rungs: Iterable[Rung]) -> list[int]:
    """Return the endpoints of the recipients of these rungs, each once; create those that are missing."""
    urls = list(
        dict.fromkeys(f"{_SCHEMES[rung.channel]}:{address}" for rung in rungs for address in find_recipients(rung))
    )
    known = dict(Endpoint.objects.filter(url__in=urls).order_by("-pk").values_list("url", "pk"))
    for url in urls:
        if url not in known:
            known[url] = Endpoint.objects.create(url=url, secret=b"").pk
    # An endpoint that was given up while its mail server was away for days is tried again with every new alert.
    Endpoint.objects.filter(pk__in=known.values(), active=False).update(
        active=True, off_reason="", failures=0, opened_at=None, probe_at=None, not_before=None
    )
    return [known[url] for url in urls]


def save_rung(rung: Rung, *, actor: str) -> None:
    """Add or change a rung; open alerts are escalated by the new ladder at once."""
    rung.addresses = " ".join(split_addresses(rung.addresses))
    faults = find_rung_faults(rung)
    if faults:
        raise Invalid(faults)
    with transaction.atomic():
        known = Rung.objects.select_for_update().filter(pk=rung.pk).first()
        rung.save(force_insert=known is None)
        _record(None if known is None else _values(known), rung, actor=actor)
        _escalate_open_alerts()


def delete_rung(rung: Rung, *, actor: str) -> None:
    with transaction.atomic():
        before, pk = _values(rung), rung.pk
        rung.delete()
        action = ChangeRecord.Action.DELETED
        record_change(kind=KIND, object_id=str(pk), action=action, before=before, after=None, actor=actor)
        _escalate_open_alerts()


def find_rung_faults(rung: Rung) -> dict[str, list[str]]:
    """Return the broken rules, by field."""
    faults = dict[str, list[str]]()
    is_mail = rung.channel == Rung.Channel.EMAIL
    if not 0 <= rung.after_seconds <= LONGEST:
        faults["after_seconds"] = [gettext("Must be from 0 to %(most)s seconds.") % {"most": LONGEST}]
    if rung.to_superusers and not is_mail:
        faults["to_superusers"] = [gettext("User accounts have no phone number, only an e-mail address.")]
    wrong = [
        each for each in split_addresses(rung.addresses) if not (_is_mail(each) if is_mail else PHONE.fullmatch(each))
    ]
    if wrong:
        rule = gettext("Not an e-mail address: %(wrong)s") if is_mail else gettext("Not a phone number: %(wrong)s")
        faults["addresses"] = [rule % {"wrong": ", ".join(wrong)}]
    elif not (rung.to_superusers or rung.to_administrator or rung.addresses.strip()):
        faults["addresses"] = [gettext("Add at least one recipient.")]
    return faults


def _is_mail(address: str) -> bool:
    try:
        validate_email(address)
    except ValidationError:
        return False
    return len(address) <= 254


def _record(before: dict[str, Any] | None, rung: Rung, *, actor: str) -> None:
    after = _values(rung)
    action = ChangeRecord.Action.CREATED if before is None else ChangeRecord.Action.CHANGED
    if before != after:
        record_change(kind=KIND, object_id=str(rung.pk), action=action, before=before, after=after, actor=actor)


def _values(rung: Rung) -> dict[str, Any]:
    return {name: getattr(rung, name) for name in FIELDS}


def _escalate_open_alerts() -> None:
    """Make every open alert due; the fence overtakes whoever has claimed one with the ladder as it was."""
    Alert.objects.filter(status=Alert.Status.OPEN).update(due_at=Now(), fence=F("fence") + 1)
    ring("alerts")
