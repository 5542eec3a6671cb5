"""Names and pages of this app's subjects: endpoints, themes, sessions, followers, queues, deliveries, alerts."""

from collections.abc import Collection

from django.urls import reverse
from django.utils.translation import gettext

from config.common.database.sql import in_number_array
from notifications.admin.presentation import bare_address
from notifications.models import Endpoint
from notifications.names import Named, Names, name_endpoints, numbers_of, parts_of, register_names
from notifications.services.alerts import TEST_SUBJECT


def name_subjects(subjects: Collection[str]) -> dict[str, Named]:
    found = {
        **_name_endpoints(subjects),
        **{subject: _name_theme(number) for subject, number in numbers_of(subjects, "theme/").items()},
        **{subject: _name_follower(name) for subject, name in parts_of(subjects, "follower/").items()},
        **{subject: _name_queue(name) for subject, name in parts_of(subjects, "queue/").items()},
    }
    for prefix, model, words in (
        ("session/", "repeatsession", gettext("repeat session %(number)s")),
        ("delivery/", "delivery", gettext("delivery %(number)s")),
        ("alert/", "alert", gettext("alert %(number)s")),
    ):
        for subject, number in numbers_of(subjects, prefix).items():
            page = reverse(f"admin:notifications_{model}_change", args=[number])
            found[subject] = Named(words % {"number": number}, page)
    if TEST_SUBJECT in subjects:
        found[TEST_SUBJECT] = Named(gettext("escalation"), reverse("admin:notifications_rung_changelist"))
    return found


def _name_endpoints(subjects: Collection[str]) -> dict[str, Named]:
    """Return the owners of endpoints; of those that nobody owns the address, or whose mailbox or phone it is."""
    numbers = numbers_of(subjects, "endpoint/")
    owners = name_endpoints(set(numbers.values()))
    others = set(numbers.values()) - owners.keys()
    rows = Endpoint.objects.filter(pk__in=in_number_array(others)) if others else Endpoint.objects.none()
    for pk, url in rows.values_list("pk", "url"):
        owners[pk] = Named(bare_address(url))
    return {subject: owners[number] for subject, number in numbers.items() if number in owners}


def _name_theme(number: int) -> Named:
    page = reverse("admin:notifications_repeatsession_changelist", query={"theme": number, "status": "exhausted"})
    return Named(gettext("sessions of theme %(theme)s") % {"theme": number}, page)


def _name_follower(name: str) -> Named:
    page = reverse("admin:notifications_incident_changelist", query={"state": "open"})
    return Named(gettext("events that %(follower)s could not process") % {"follower": name}, page)


def _name_queue(name: str) -> Named:
    page = reverse("admin:notifications_parkedmessage_changelist", query={"status__exact": "parked", "queue": name})
    return Named(gettext("parked messages of %(queue)s") % {"queue": name}, page)


register_names(Names(name_subjects))
