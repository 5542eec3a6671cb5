"""Names and pages of this app's subjects: endpoints, themes, sessions, followers, queues, deliveries, alerts."""

from collections.abc import Callable

from django.urls import reverse
from django.utils.translation import gettext

from notifications.models import Endpoint
from notifications.names import Named, Names, name_endpoints, register_names


def name_subject(subject: str) -> Named | None:
    kind, slash, rest = subject.partition("/")
    name = _NAMES.get(kind) if slash else None
    return None if name is None else name(rest)


def _endpoint(number: str) -> Named | None:
    """Return the owner of an endpoint, or its address if nobody owns it."""
    if not number.isdecimal():
        return None
    owner = name_endpoints([int(number)]).get(int(number))
    url = None if owner is not None else Endpoint.objects.filter(pk=int(number)).values_list("url", flat=True).first()
    return owner or (None if url is None else Named(url))


def _theme(number: str) -> Named:
    page = reverse("admin:notifications_repeatsession_changelist", query={"theme": number, "status": "exhausted"})
    return Named(gettext("sessions of theme %(theme)s") % {"theme": number}, page)


def _follower(name: str) -> Named:
    page = reverse("admin:notifications_incident_changelist", query={"state": "open"})
    return Named(gettext("events that %(follower)s could not take") % {"follower": name}, page)


def _queue(name: str) -> Named:
    page = reverse("admin:notifications_parkedmessage_changelist", query={"status__exact": "parked", "queue": name})
    return Named(gettext("parked messages of %(queue)s") % {"queue": name}, page)


def _page_of(model: str) -> Callable[[str], Named | None]:
    def name(number: str) -> Named | None:
        page = reverse(f"admin:notifications_{model}_change", args=[number]) if number.isdecimal() else ""
        return Named(number, page)

    return name


_NAMES: dict[str, Callable[[str], Named | None]] = {
    "endpoint": _endpoint,
    "theme": _theme,
    "follower": _follower,
    "queue": _queue,
    "session": _page_of("repeatsession"),
    "delivery": _page_of("delivery"),
    "alert": _page_of("alert"),
}

register_names(Names(name_subject))
