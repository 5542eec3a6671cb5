"""Pages of a sensor, a client and their link as they were at an earlier time (`?at=`)."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib.admin.utils import quote
from django.db.models import Model
from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.safestring import SafeString
from django.utils.translation import gettext

from config.admin_base.pages import active_badge, page_of
from config.admin_base.theme import ModelAdmin
from config.audit.as_of import BeforeRecords, NotRegisteredThen
from config.common.actors import say_actor
from config.common.errors import Invalid, NotFound
from config.common.times import format_time, from_milliseconds, to_milliseconds, truncate_to_milliseconds
from sensors.admin.period import local_text, read_time
from sensors.admin.presentation import connection_badge, state_word
from sensors.as_of import (
    PastSensor,
    check_past,
    get_client_at,
    get_link_at,
    get_sensor_at,
    sensors_of_client_at,
)
from sensors.history.as_of import read_state_at
from sensors.history.errors import HistoryAway
from sensors.models import Client, Sensor

SENSORS_SHOWN = 50


@dataclass(frozen=True)
class Fact:
    name: str
    value: SafeString | str
    since: datetime | None = None


@dataclass(frozen=True)
class Link:
    """Something that was linked then, with its own page at the same time."""

    text: str
    page: str
    link_page: str = ""
    """The page of the link itself: since when, and by whom."""


@dataclass(frozen=True)
class AsOf:
    facts: list[Fact]
    links: list[Link] | None = None
    """None: the page is about no links."""
    more: int = 0
    """How many further ones there are."""
    is_away: bool = False
    """History cannot be reached: the state of then is not known now."""


def sensor_as_of_page(model_admin: ModelAdmin[Sensor], request: HttpRequest, sensor: Sensor) -> HttpResponse:
    title = gettext("Sensor %(id)s") % {"id": sensor.pk}
    return _page(model_admin, request, sensor, title, lambda at: _sensor_then(sensor.pk, at))


def client_as_of_page(model_admin: ModelAdmin[Client], request: HttpRequest, client: Client) -> HttpResponse:
    title = gettext("Client “%(name)s”") % {"name": client.name}
    return _page(model_admin, request, client, title, lambda at: _client_then(client.pk, at))


def link_page(model_admin: ModelAdmin[Sensor], request: HttpRequest, sensor_id: str, client_id: int) -> HttpResponse:
    """Show whether a client is notified about a sensor, and since when; by default now."""
    sensor, client = Sensor.objects.filter(pk=sensor_id).first(), Client.objects.filter(pk=client_id).first()
    if sensor is None or client is None:
        raise Http404
    title = gettext("Sensor %(id)s and client “%(name)s”") % {"id": sensor.pk, "name": client.name}
    return _page(model_admin, request, sensor, title, lambda at: _link_then(sensor, client, at))


def _page(
    model_admin: ModelAdmin[Any], request: HttpRequest, subject: Model, title: str, read: Callable[[datetime], AsOf]
) -> HttpResponse:
    """Answer with what `read` returns of the time that is asked for; 400 with the reason where that is no time."""
    at, error, status = truncate_to_milliseconds(timezone.now()), "", 200
    then: AsOf | None = None
    try:
        if "at" in request.GET:
            at = _read_at(request.GET["at"])
        then = read(at)
    except Invalid as wrong:
        error, status = " ".join(rule for rules in wrong.data["fields"].values() for rule in rules), 400
    except (NotRegisteredThen, BeforeRecords) as unknown:
        error = _explain(unknown)
    context = {
        **model_admin.admin_site.each_context(request),
        "opts": model_admin.opts,
        "media": model_admin.media,
        "title": title,
        "original": subject,
        "back": page_of(model_admin, subject),
        "at": at,
        "at_text": local_text(at),
        "error": error,
        "then": then,
    }
    return TemplateResponse(request, "admin/sensors/as_of.html", context, status=status)


def _read_at(text: str) -> datetime:
    at = read_time(text)
    if at is None:
        raise Invalid({"at": [gettext("This is not a valid time.")]})
    return check_past(at)


def _explain(unknown: NotFound) -> str:
    """Return why nothing is known of a time, with the time from which on something is."""
    begins = unknown.data.get("records_begin") or unknown.data.get("created_at")
    if not begins:
        return unknown.message
    words = gettext("%(reason)s The first time that is known: %(at)s.")
    return words % {"reason": unknown.message, "at": _time(datetime.fromisoformat(begins))}


def _sensor_then(sensor_id: str, at: datetime) -> AsOf:
    then = get_sensor_at(sensor_id, at)
    state_facts, is_away = _state_facts(then)
    limit = gettext("none") if then.open_limit is None else gettext("%(seconds)s s") % {"seconds": then.open_limit}
    facts = [
        *state_facts,
        Fact(gettext("Active"), active_badge(then.active)),
        Fact(gettext("Address"), then.address),
        Fact(gettext("Heartbeat timeout"), gettext("%(seconds)s s") % {"seconds": then.heartbeat_timeout}),
        Fact(gettext("Open limit"), limit),
        Fact(gettext("Muted until"), _mute(then.muted_until)),
        Fact(gettext("Notes"), then.notes or "–"),
    ]
    names = dict(Client.objects.filter(pk__in=then.clients).values_list("pk", "name"))
    links = [
        Link(names[pk], _address("admin:sensors_client_change", at, pk), _link_address(at, sensor_id, pk))
        for pk in then.clients
        if pk in names
    ]
    return AsOf(facts, links, is_away=is_away)


def _state_facts(then: PastSensor) -> tuple[list[Fact], bool]:
    """Return the state of a sensor at a time, and whether history is away."""
    try:
        state = read_state_at(then.id, to_milliseconds(then.at))
    except HistoryAway:
        return [], True
    known = [Fact(gettext("State"), state_word(state.value), _from_ms(state.changed_at))]
    known.append(Fact(gettext("Connection"), connection_badge(then.connection(state)), _from_ms(state.lost_at)))
    seen_at = _from_ms(state.seen_at)
    known.append(Fact(gettext("Last seen"), "–" if seen_at is None else _time(seen_at)))
    return known, False


def _client_then(client_id: int, at: datetime) -> AsOf:
    then = get_client_at(client_id, at)
    sensors, count = sensors_of_client_at(client_id, at, limit=SENSORS_SHOWN)
    facts = [
        Fact(gettext("Name"), then.name),
        Fact(gettext("URL"), then.url),
        Fact(gettext("Active"), active_badge(then.active)),
        Fact(gettext("Paused"), gettext("yes") if then.paused else gettext("no")),
        Fact(gettext("Muted until"), _mute(then.muted_until)),
        Fact(gettext("Sensors"), str(count)),
    ]
    links = [
        Link(pk, _address("admin:sensors_sensor_change", at, pk), _link_address(at, pk, client_id)) for pk in sensors
    ]
    return AsOf(facts, links, more=count - len(links))


def _link_then(sensor: Sensor, client: Client, at: datetime) -> AsOf:
    link = get_link_at(sensor.pk, client.pk, at)
    facts = [
        Fact(gettext("Linked"), gettext("yes") if link.is_linked else gettext("no"), link.since),
        Fact(gettext("Changed by"), say_actor(link.actor)),
    ]
    links = [
        Link(sensor.pk, _address("admin:sensors_sensor_change", at, sensor.pk)),
        Link(client.name, _address("admin:sensors_client_change", at, client.pk)),
    ]
    return AsOf(facts, links)


def _address(name: str, at: datetime, pk: str | int) -> str:
    return reverse(name, args=[quote(pk)], query={"at": format_time(at)})


def _link_address(at: datetime, sensor_id: str, client_id: int) -> str:
    return reverse("admin:sensors_sensor_link", args=[sensor_id, client_id], query={"at": format_time(at)})


def _mute(until: datetime | None) -> str:
    return "–" if until is None else _time(until)


def _from_ms(at: int | None) -> datetime | None:
    return None if at is None else from_milliseconds(at)


def _time(at: datetime) -> str:
    return date_format(timezone.localtime(at), "DATETIME_FORMAT")
