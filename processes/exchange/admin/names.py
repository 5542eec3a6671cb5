"""Name exchange processes on the pages and in the messages of notifications."""

from collections.abc import Collection
from uuid import UUID

from django.urls import reverse
from django.utils.translation import gettext

from notifications.names import Named, Names, parts_of, register_names
from processes.exchange.models import ExchangeProcess
from processes.exchange.subjects import PREFIX


def name_subjects(subjects: Collection[str]) -> dict[str, Named]:
    """Return the names of processes by the ERPs whose they are; of one that is gone by its id."""
    ids: dict[str, UUID] = {}
    for subject, rest in parts_of(subjects, PREFIX).items():
        try:
            ids[subject] = UUID(rest)
        except ValueError:
            continue
    rows = ExchangeProcess.objects.filter(pk__in=set(ids.values())) if ids else ExchangeProcess.objects.none()
    erps = dict(rows.values_list("pk", "database__name"))
    found = {}
    for subject, pk in ids.items():
        name = erps.get(pk)
        page = reverse("admin:exchange_exchangeprocess_change", args=[pk])
        words = (
            gettext("exchange process %(process)s") if name is None else gettext("exchange process of ERP “%(name)s”")
        )
        found[subject] = Named(words % {"process": pk, "name": name}, page)
    return found


register_names(Names(name_subjects))
