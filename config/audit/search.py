"""What the search of the admin finds in the shared tables: keys by how they begin, registry changes by number."""

from django.urls import reverse
from django.utils.formats import date_format
from django.utils.timezone import localtime

from config.admin_base.search import Found, SearchHit, SearchText
from config.audit.selectors import public_changes
from config.common.actors import say_actor
from config.common.key_text import find_prefix
from config.records.models import AccessKey, ChangeRecord

FEWEST = 4
"""`ps_` alone begins every key of a service."""


def find_keys(asked: SearchText, most: int) -> Found:
    """Return the keys that begin so; of a whole key only its public beginning is looked at."""
    beginning = find_prefix(asked.text) or asked.text
    if len(beginning) < FEWEST:
        return Found()
    rows = AccessKey.objects.filter(prefix__startswith=beginning).order_by("prefix")[:most]
    hits = []
    for key in rows:
        page = reverse("admin:records_accesskey_change", args=[key.pk])
        words = f"{key.name} · {key.get_kind_display()}"
        hits.append(SearchHit(key.prefix, words, page, is_exact=key.prefix == beginning))
    return Found(hits)


def find_changes(asked: SearchText, most: int) -> Found:
    if asked.number is None:
        return Found()
    return Found([_change_hit(change) for change in public_changes().filter(pk=asked.number)])


def _change_hit(change: ChangeRecord) -> SearchHit:
    page = reverse("admin:records_changerecord_change", args=[change.pk])
    at = date_format(localtime(change.at), "SHORT_DATETIME_FORMAT")
    words = f"{change} · {change.get_action_display()} · {say_actor(change.actor)} · {at}"
    return SearchHit(f"#{change.pk}", words, page, is_exact=True)
