"""The first steps of an empty installation: a client, a sensor, a signal, the webhook; each is ticked when it is done.

Shown to whoever may register, until the last step is done or they hide it. What is looked at is bounded: an
installation with many sensors has done its first steps, whatever its rows say.
"""

import json
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

from django.conf import settings
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db.models import Case, When
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext
from django.views.decorators.http import require_POST

from config.access.scopes import Scope, permission
from config.common.correlation import correlation_id
from config.common.database.sql import fetch_row
from config.common.times import to_milliseconds
from notifications.models import Delivery
from sensors.heartbeat.clock import clock
from sensors.ingest.accept import accept_signals
from sensors.ingest.signals import Origin
from sensors.models import SensorClient

FEW_SENSORS = 100
"""An installation with more of them is not new."""
DELIVERIES_SEEN = 200
"""The oldest deliveries, among which the first webhook that arrived is looked for."""
SHOWN_WHEN_DONE = timedelta(minutes=10)
"""For so long after the first webhook all steps are shown, ticked."""
HIDDEN_COOKIE = "first_steps_hidden"
HIDDEN_SECONDS = 365 * 24 * 3600
SEND_SIGNALS = f"records.{permission(Scope.SIGNALS_WRITE)}"


@dataclass(frozen=True)
class Step:
    title: str
    text: str
    is_done: bool
    button: str = ""
    link: str = ""
    """Where the button leads; without a link it posts, and without a word there is none."""


@dataclass(frozen=True)
class FirstSteps:
    steps: list[Step]

    @property
    def current(self) -> Step | None:
        """The step to take now."""
        return next((step for step in self.steps if not step.is_done), None)

    @property
    def is_waiting(self) -> bool:
        """Whether what comes next comes by itself: a signal was sent, the webhook is on its way."""
        return self.current is self.steps[-1]


def find_first_steps(request: HttpRequest, *, at: datetime) -> FirstSteps | None:
    """Return the steps, or None where they are done, hidden, or another person's work."""
    may_register = request.user.has_perm("sensors.add_sensor") and request.user.has_perm("sensors.add_client")
    if not may_register or HIDDEN_COOKIE in request.COOKIES:
        return None
    row = fetch_row("sensors", "read_first_steps", [FEW_SENSORS + 1])
    assert row is not None  # a row without a table
    done = _Done(*row)
    if done.sensors > FEW_SENSORS:
        return None
    webhook = _first_webhook() if done.has_client else None
    may_send = request.user.has_perm(SEND_SIGNALS) and done.has_link
    found = FirstSteps(
        [
            _register_client(is_done=done.has_client),
            _register_sensor(is_done=done.has_link),
            _send_signal(is_done=done.is_heard, may_send=may_send),
            _see_webhook(webhook),
        ]
    )
    is_past = found.current is None and webhook is not None and webhook.created_at < at - SHOWN_WHEN_DONE
    return None if is_past else found


class _Done(NamedTuple):
    sensors: int
    has_client: bool
    has_link: bool
    is_heard: bool
    """Whether a sensor with a client has been heard."""


def _register_client(*, is_done: bool) -> Step:
    return Step(
        gettext("Register a client"),
        gettext("Who is notified, and at which URL. Its signing secret is shown once."),
        is_done=is_done,
        button=gettext("New client"),
        link=reverse("admin:sensors_client_add"),
    )


def _register_sensor(*, is_done: bool) -> Step:
    return Step(
        gettext("Register a sensor"),
        gettext("The id that the sensor sends, where its door is, and the client that is notified."),
        is_done=is_done,
        button=gettext("New sensor"),
        link=reverse("admin:sensors_sensor_add"),
    )


def _send_signal(*, is_done: bool, may_send: bool) -> Step:
    return Step(
        gettext("Send a signal"),
        gettext("As the sensor would: the door opens. Programs do it with an access key."),
        is_done=is_done,
        button=gettext("Send a signal") if may_send else "",
    )


def _first_webhook() -> Delivery | None:
    """Return the first delivery that a client accepted, or the first of all where none was."""
    first = Delivery.objects.order_by("pk").values("pk")[:DELIVERIES_SEEN]
    to_clients = Delivery.objects.filter(pk__in=first, endpoint__client__isnull=False).defer("body")
    is_accepted = Case(When(status=Delivery.Status.DELIVERED, then=0), default=1)
    return to_clients.order_by(is_accepted, "pk").first()


def _see_webhook(shown: Delivery | None) -> Step:
    is_done = shown is not None and shown.status == Delivery.Status.DELIVERED
    if shown is None:
        text = gettext("The client is notified within a second. Its answer is kept.")
    elif not is_done and shown.attempts_made:
        text = gettext(
            "The client has not accepted it yet: its page says what was answered, and when the next attempt is."
        )
    else:
        text = gettext("What was sent, when, and what the client answered.")
    return Step(
        gettext("See the webhook arrive"),
        text,
        is_done=is_done,
        button=gettext("Open the delivery") if shown else "",
        link=reverse("admin:notifications_delivery_change", args=[shown.pk]) if shown else "",
    )


@require_POST
def send_first_signal(request: HttpRequest) -> HttpResponse:
    """Let the first linked sensor report the other state, by the way that every signal takes."""
    if not request.user.has_perm(SEND_SIGNALS):
        raise PermissionDenied
    if find_first_steps(request, at=timezone.now()) is None:
        # A page that was left open: the first sensor may be a real door by now.
        messages.error(request, gettext("The first steps are over: nothing was sent."))
        return HttpResponseRedirect(reverse("admin:index"))
    link = SensorClient.objects.select_related("sensor__state").order_by("pk").first()
    if link is None:
        messages.error(request, gettext("Register a sensor with a client first."))
        return HttpResponseRedirect(reverse("admin:index"))
    data = 0 if link.sensor.state.value == 1 else 1
    origin = Origin(received_at=to_milliseconds(clock.time()), correlation_id=correlation_id(), over_rest=True)
    body = json.dumps({"sensor_id": link.sensor_id, "data": data}).encode()
    answer = accept_signals(body, origin, by_queue=bool(settings.AMQP_URL))
    if answer["rejected"]:
        messages.error(request, answer["rejected"][0]["message"])
    else:
        words = gettext("Sensor %(id)s: the door opened.") if data else gettext("Sensor %(id)s: the door closed.")
        messages.success(request, words % {"id": link.sensor_id})
    return HttpResponseRedirect(reverse("admin:index"))


@require_POST
def hide_first_steps(request: HttpRequest) -> HttpResponse:
    """Hide the steps in this browser."""
    answer = HttpResponseRedirect(reverse("admin:index"))
    answer.set_cookie(
        HIDDEN_COOKIE,
        "1",
        max_age=HIDDEN_SECONDS,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )
    return answer
