"""The events of this app in words, and the names of what an alert knows of its cause."""

from django.utils.functional import Promise
from django.utils.translation import gettext, gettext_noop
from django.utils.translation import gettext_lazy as _

from config.common.known_texts import KnownTexts
from config.common.text_templates import is_translated, on_one_line, render_text
from notifications.event_titles import EventTitle, Payload
from notifications.models import Delivery

_BECAME: dict[str, Promise] = {
    Delivery.Status.DELIVERED: _("Message delivered"),
    Delivery.Status.DEAD: _("Message not delivered"),
    Delivery.Status.PENDING: _("Delivery attempt failed"),
}


DETAILS: dict[str, Promise] = {
    "call": _("call"),
    "cause": _("cause"),
    "code": _("code"),
    "count": _("count"),
    "database": _("database"),
    "definition": _("definition"),
    "element": _("element"),
    "endpoint": _("endpoint"),
    "engine": _("engine"),
    "errno": _("error code"),
    "error": _("error"),
    "event": _("event"),
    "failures": _("failures"),
    "follower": _("event consumer"),
    "free": _("free space, MB"),
    "instance": _("instance"),
    "kind": _("kind"),
    "limit": _("limit"),
    "losses_in_an_hour": _("losses within an hour"),
    "megabytes": _("size, MB"),
    "message": _("message"),
    "name": _("name"),
    "node": _("node"),
    "path": _("path"),
    "process": _("process"),
    "queue": _("queue"),
    "reader": _("reader"),
    "reason": _("reason"),
    "receiver": _("receiver"),
    "record": _("record"),
    "refused": _("rejected"),
    "role": _("role"),
    "sensor_id": _("sensor"),
    "source": _("source"),
    "state": _("state"),
    "status": _("status"),
    "subject": _("object"),
    "theme": _("theme"),
    "times": _("times"),
    "url": _("URL"),
}


_ADDRESS_REFUSALS = KnownTexts(
    [
        gettext_noop("it is not an address"),
        gettext_noop("it is %(what)s (%(network)s); WEBHOOK_ALLOWED_NETWORKS may list the private networks to open"),
        gettext_noop("the cloud's metadata services are there, and nothing opens them"),
    ],
    {"what": gettext},
)
ATTEMPT_ERRORS = KnownTexts(
    [
        gettext_noop("%(address)s is refused: %(reason)s"),
        gettext_noop("answered %(status)s"),
        gettext_noop("answered %(status)s: redirects are not followed, the client needs its final URL"),
        gettext_noop("cannot be signed: %(reason)s"),
        gettext_noop("no TLS (%(reason)s)"),
        gettext_noop("no answer within %(seconds)s s"),
        gettext_noop("no connection (%(reason)s)"),
        gettext_noop("no connection within %(seconds)s s"),
        gettext_noop("no whole answer within %(seconds)s s"),
        gettext_noop("the URL must be http or https with a host and without a user"),
        gettext_noop("the URL names no host that can be called"),
        gettext_noop("the answer could not be recorded (%(reason)s)"),
        gettext_noop("the answer is not HTTP, or its headers are too long"),
        gettext_noop("the certificate is not trusted (%(reason)s)"),
        gettext_noop("the connection broke (%(reason)s)"),
        gettext_noop("the connection was closed before the answer was whole"),
        gettext_noop("the name %(host)s was not found (%(reason)s)"),
    ],
    {"reason": _ADDRESS_REFUSALS.translate},
)
"""What the sender writes about an attempt: the same for everybody, and in REST."""


def say_reason(text: str) -> str:
    """Return why a delivery is as it is, or an attempt failed, in the reader's language."""
    return ATTEMPT_ERRORS.translate(render_text(text, {}))


def say_details(detail: Payload) -> dict[str, str]:
    """Return what an alert knows of its cause: names in the reader's words, each value on one line."""
    said = {}
    for name, value in detail.items():
        # A reason or a cause may be a text of our own, and any value may be one with details.
        place = name if is_translated(name) else "value"
        words = render_text(f"%({place})s", {place: value})
        said[str(DETAILS.get(name, name))] = on_one_line(words)
    return said


EVENT_TITLES: dict[str, EventTitle | Promise] = {
    "alert.raised": _("Alert raised"),
    "alert.acknowledged": _("Alert acknowledged"),
    "alert.muted": _("Alert muted"),
    "alert.resolved": _("Alert resolved"),
    "alert.closed": _("Alert closed"),
    "alerts": _("Several alerts"),
    "delivery.attempted": EventTitle(_("Delivery attempt"), "became", _BECAME),
    "delivery.dead": _("Message not delivered"),
    "delivery.resent": _("Message resent"),
    "ping": _("Test message"),
    "registry.created": _("Registered"),
    "registry.changed": _("Registration changed"),
    "registry.deleted": _("Registration ended"),
    "session.exhausted": _("Repeat session exhausted"),
}
