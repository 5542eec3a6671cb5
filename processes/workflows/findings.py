"""What the linter has found, in the reader's language: the engine itself speaks English."""

from dataclasses import replace
from datetime import datetime
from functools import lru_cache

from django.utils.translation import gettext_noop

from config.common.known_texts import KnownTexts
from processes.workflows.engine.lint import Finding, lint_definition
from processes.workflows.models import WorkflowRevision
from processes.workflows.services.definitions.library import UnknownDefinition, get_compiled

_MESSAGES = KnownTexts(
    (
        gettext_noop("No path from a start event leads here."),
        gettext_noop("The join waits for ever: the flows from %(names)s are never taken together."),
        gettext_noop("“%(one)s” and “%(other)s” both hold for %(example)s: the first one is taken."),
        gettext_noop("No condition holds for %(example)s, and there is no default flow."),
        gettext_noop(
            "The rules %(one)s and %(other)s both match %(example)s, which the hit policy UNIQUE does not allow."
        ),
        gettext_noop("No rule matches %(example)s, and there is no default output."),
        gettext_noop("The time %(time)s is in the past."),
        gettext_noop("On trial nothing begins here: the current revision does not start like this."),
        gettext_noop("It fails whenever it is reached: what it throws has a name of more than %(count)s characters."),
        gettext_noop("No event reaches it: what it waits for has a name of more than %(count)s characters."),
    ),
    {},
)


def find_findings(revision: WorkflowRevision, *, at: datetime) -> list[Finding]:
    """Return what may be wrong with a revision, in the current language."""
    # By the hour: whether a timer is past changes with time, nothing else does.
    hour = at.replace(minute=0, second=0, microsecond=0)
    found = _lint(revision.definition_id, revision.number, revision.digest, hour)
    return [replace(each, message=_MESSAGES.translate(each.message)) for each in found]


@lru_cache(maxsize=256)
def _lint(key: str, number: int, digest: str, at: datetime) -> tuple[Finding, ...]:
    try:
        return lint_definition(get_compiled(key, number), at=at)
    except UnknownDefinition:
        return ()
