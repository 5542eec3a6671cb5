"""Who did something, as rows and logs name it, in the words of a reader."""

from collections.abc import Mapping

from django.utils.functional import Promise
from django.utils.translation import gettext, gettext_lazy, pgettext_lazy

NOBODY = "–"
_KINDS: Mapping[str, Promise] = {
    "key": gettext_lazy("key %(name)s"),
    "command": gettext_lazy("manage.py %(name)s"),
    "handler": gettext_lazy("handler of %(name)s"),
}
_OURSELVES: Mapping[str, Promise] = {
    "timer": pgettext_lazy("actor", "timer"),
    "event": pgettext_lazy("actor", "event"),
    "workflow": pgettext_lazy("actor", "workflow"),
}


def say_actor(actor: str) -> str:
    """Return who acted: a person by name alone, anything else with what it is; a dash where nobody did."""
    if not actor:
        return NOBODY
    kind, colon, name = actor.partition(":")
    if kind == "staff" and name:
        return name
    if colon and name and kind in _KINDS:
        return str(_KINDS[kind]) % {"name": name}
    number = actor.removeprefix("session ")
    if number != actor:
        return gettext("repeat session %(number)s") % {"number": number}
    return str(_OURSELVES.get(actor, actor))
