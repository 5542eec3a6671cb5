"""What of a scenario was not as expected, in the reader's language: the engine itself speaks English."""

from django.utils.translation import gettext_noop

from config.common.known_texts import KnownTexts
from processes.workflows.models.instance import Status
from processes.workflows.reasons import translate_reason


def say_failure(text: str) -> str:
    """Return a failure in the current language; one that is not listed may be a reason of the engine."""
    said = _STEPS.translate(text)
    return said if said != text else _say_difference(text)


def _say_difference(text: str) -> str:
    said = _DIFFERENCES.translate(text)
    return said if said != text else translate_reason(text)


def _say_status(status: str) -> str:
    return str(Status(status).label) if status in Status.values else status


_STEPS = KnownTexts((gettext_noop("Step %(number)s: %(failure)s"),), {"failure": _say_difference})
_DIFFERENCES = KnownTexts(
    (
        gettext_noop("a decision is evaluated at once: only expect has a meaning."),
        gettext_noop("it did not pass %(element)s."),
        gettext_noop("it passed %(element)s."),
        gettext_noop("the instance is %(status)s, not %(expected)s."),
        gettext_noop("the open tasks are %(tasks)s."),
        gettext_noop("the rule %(rule)s does not match."),
        gettext_noop("the rule %(rule)s matches."),
        gettext_noop("there are no open tasks."),
        gettext_noop("there is no %(name)s."),
        gettext_noop("%(name)s is %(found)s, not %(other)s."),
        gettext_noop("%(text)s is not a duration."),
        gettext_noop("More than %(count)s timers fall due."),
        gettext_noop("Nothing waits for the event %(name)s."),
        gettext_noop("There is no item at %(element)s."),
        gettext_noop("There is no open task at %(element)s."),
        gettext_noop("There is no open work at %(element)s."),
        gettext_noop("There was no time left for it."),
        gettext_noop("This step cannot be played: %(step)s"),
    ),
    {"status": _say_status, "expected": _say_status},
)
