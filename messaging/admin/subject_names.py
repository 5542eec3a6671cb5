"""Names and links of messages and parties for the pages and texts of notifications."""

from collections.abc import Collection

from django.urls import reverse
from django.utils.translation import gettext

from messaging.models import Device, Enterprise, ExchangeDatabase, Message, Subsystem
from messaging.subjects import PREFIX
from notifications.names import Named, Names, parts_of, register_names

FOLDERS = "messages"
"""The subject of alerts about the folders of all messages."""
PARTIES = {"enterprise": Enterprise, "subsystem": Subsystem, "device": Device, "database": ExchangeDatabase}
"""As the change log and its events name them."""


def name_subjects(subjects: Collection[str]) -> dict[str, Named]:
    found = _name_messages(subjects)
    for kind, model in PARTIES.items():
        ids = parts_of(subjects, f"{kind}/")
        names = dict(model._default_manager.filter(pk__in=set(ids.values())).values_list("pk", "name")) if ids else {}
        for subject, pk in ids.items():
            if pk in names:
                page = reverse(f"admin:messaging_{model._meta.model_name}_change", args=[pk])
                found[subject] = Named(names[pk], page)
    if FOLDERS in subjects:
        found[FOLDERS] = Named(gettext("message folders"), reverse("admin:messaging_message_changelist"))
    return found


def _name_messages(subjects: Collection[str]) -> dict[str, Named]:
    parts = {subject: rest.partition("/") for subject, rest in parts_of(subjects, PREFIX).items()}
    asked = {subject: ids for subject, ids in parts.items() if all(ids)}
    enterprises = {enterprise for enterprise, _slash, _id in asked.values()}
    public_ids = {public_id for _enterprise, _slash, public_id in asked.values()}
    rows = (
        Message.objects.filter(enterprise__in=enterprises, public_id__in=public_ids)
        if asked
        else Message.objects.none()
    )
    known = {
        (enterprise, public_id): pk
        for enterprise, public_id, pk in rows.values_list("enterprise_id", "public_id", "pk")
    }
    found = {}
    for subject, (enterprise, _slash, public_id) in asked.items():
        pk = known.get((enterprise, public_id))
        page = "" if pk is None else reverse("admin:messaging_message_change", args=[pk])
        found[subject] = Named(gettext("message %(message)s") % {"message": public_id}, page)
    return found


register_names(Names(name_subjects))
