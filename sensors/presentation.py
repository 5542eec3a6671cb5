"""The events of a sensor in words, and why a signal was rejected."""

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.utils.translation import gettext_noop

from config.common.known_texts import KnownTexts
from notifications.event_titles import EventTitle
from sensors.events import CONNECTION_LOST, CONNECTION_RESTORED, LEFT_OPEN, LOSS_WITHDRAWN, STATE_CHANGED
from sensors.ingest.signals import Code

EVENT_TITLES: dict[str, EventTitle | Promise] = {
    STATE_CHANGED: EventTitle(_("Door opened or closed"), "data", {"0": _("Door closed"), "1": _("Door opened")}),
    CONNECTION_LOST: _("Connection lost"),
    CONNECTION_RESTORED: _("Connection restored"),
    LOSS_WITHDRAWN: _("Connection loss withdrawn"),
    LEFT_OPEN: _("Door left open"),
    "sensor.connections_lost": _("Several connections lost"),
    "sensor.connections_restored": _("Several connections restored"),
    "sensor.flapping": _("Unstable connection"),
}
REJECTIONS: dict[str, Promise] = {
    Code.UNKNOWN_SENSOR: _("unknown sensor"),
    Code.INACTIVE_SENSOR: _("inactive sensor"),
    Code.BAD_DATA: _("wrong value"),
    Code.BAD_TIME: _("wrong time"),
    Code.FROM_THE_FUTURE: _("time in the future"),
    Code.BAD_JSON: _("not JSON"),
    Code.BAD_SHAPE: _("wrong format"),
}

_MESSAGES = KnownTexts(
    (
        gettext_noop("no such sensor is registered"),
        gettext_noop("the sensor is not active"),
        gettext_noop("data must be the number 0 or 1"),
        gettext_noop("at must be a time such as 2026-01-31T12:00:00.000Z"),
        gettext_noop("a sensor id has 1 to 16 letters and digits"),
        gettext_noop("a signal with an id needs its time"),
        gettext_noop("a signal cannot be older than 2020"),
        gettext_noop("more than five minutes ahead of the time of receipt"),
        gettext_noop("an id has 1 to 64 characters of A-Z a-z 0-9 : . _ -"),
        gettext_noop("a list holds at most %(count)s signals"),
        gettext_noop("the message is larger than %(count)s bytes"),
        gettext_noop("nested too deeply"),
        gettext_noop("Expected `%(expected)s`, got `%(got)s`"),
    )
)


def say_rejection(code: str) -> str:
    """Return why a signal was rejected, in words; a code that is not ours stands for itself."""
    return str(REJECTIONS.get(code, code))


def say_rejection_message(message: str) -> str:
    """Return what is wrong with a rejected signal in the language of the reader; what a parser says stays English."""
    return _MESSAGES.translate(message)
