"""What the search of the admin finds here: parties by id and name, messages by id."""

from collections.abc import Callable
from typing import Any

from django.db.models import F, Model, QuerySet, Value
from django.urls import reverse

from config.admin_base.search import Found, SearchHit, SearchText, contains, find_by_id, first_rows, look_through
from messaging.files.names import parties_of
from messaging.models import Device, Enterprise, ExchangeDatabase, Message, Subsystem
from messaging.models.parties import is_party_id


def find_parties(
    model: type[Model], owner: str | None, *, look: Any = first_rows
) -> Callable[[SearchText, int], Found]:
    """Return how parties of a kind are found; `owner` is the column that names whose they are, `look` reads names."""
    page = f"admin:messaging_{model._meta.model_name}_change"
    whose = Value("") if owner is None else F(owner)

    def find(asked: SearchText, most: int) -> Found:
        rows: QuerySet[Any, tuple[str, str, str]] = model._default_manager.values_list("pk", "name", whose)
        found = find_by_id(rows, asked, most) if is_party_id(asked.text) else []
        is_whole = True
        if asked.is_part and len(found) < most:
            named, is_whole = look(rows.filter(contains("name", asked.text)), most)
            found += sorted(set(named) - set(found))
        hits = [
            SearchHit(
                name,
                f"{pk} · {owned_by}" if owned_by else pk,
                reverse(page, args=[pk]),
                is_exact=asked.is_id(pk) or name.lower() == asked.text.lower(),
            )
            for pk, name, owned_by in found[:most]
        ]
        return Found(hits, is_whole)

    return find


find_devices = find_parties(Device, "subsystem__enterprise__name", look=look_through)
find_databases = find_parties(ExchangeDatabase, "enterprise__name")
find_enterprises = find_parties(Enterprise, None)
find_subsystems = find_parties(Subsystem, "enterprise__name")


def find_messages(asked: SearchText, most: int) -> Found:
    """Return the messages of this id: of each enterprise one at most."""
    if not is_party_id(asked.text):
        return Found()
    # By the unique key, enterprise by enterprise: a message has no other index of its id.
    rows = Message.objects.filter(enterprise__in=Enterprise.objects.values("pk"), public_id__in=asked.spellings)
    hits = []
    for message in rows.order_by()[:most]:
        sender, to = parties_of(message)
        page = reverse("admin:messaging_message_change", args=[message.pk])
        words = f"{sender} → {to} · {message.get_status_display()}"
        hits.append(SearchHit(message.public_id, words, page, is_exact=True))
    return Found(hits)
