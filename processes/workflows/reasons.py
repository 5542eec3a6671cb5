"""Why a command was refused or has failed, in the reader's language: the engine itself speaks English.

Incidents and alerts keep the English text. What workers, handlers and other systems have said stays as it is.
"""

import re

from django.utils.functional import Promise
from django.utils.translation import gettext, gettext_noop, pgettext_lazy
from django.utils.translation import gettext_lazy as _

from config.common.known_texts import KnownTexts, StoredWords
from processes.workflows.diagrams import state_label
from processes.workflows.models.instance import Status

_REFUSALS = (
    gettext_noop("%(name)s cannot be the name of a variable."),
    gettext_noop("A case does not support the command %(name)s."),
    gettext_noop("A case that is %(status)s cannot be closed."),
    gettext_noop("A case that is %(status)s cannot be reactivated."),
    gettext_noop("A decision is evaluated; it has no instances."),
    gettext_noop("A process does not support the command %(name)s."),
    gettext_noop("A task of kind %(kind)s cannot be completed by this command."),
    gettext_noop("An item in the stage is under way, or is required and not completed."),
    gettext_noop("An item that is %(state)s cannot be completed."),
    gettext_noop("An item that is %(state)s cannot be disabled."),
    gettext_noop("An item that is %(state)s cannot be enabled again."),
    gettext_noop("An item that is %(state)s cannot be reactivated."),
    gettext_noop("An item that is %(state)s cannot be resumed."),
    gettext_noop("An item that is %(state)s cannot be started."),
    gettext_noop("An item that is %(state)s cannot be suspended."),
    gettext_noop("An item that is %(state)s cannot be terminated."),
    gettext_noop("An item that is %(state)s cannot occur."),
    gettext_noop("It failed unexpectedly; the log says more."),
    gettext_noop("It is the newest version: there is nothing to return from."),
    gettext_noop("Choose instances of one definition: each has revisions of its own."),
    gettext_noop("No instance was chosen."),
    gettext_noop("Nothing has ended with the case that could begin again."),
    gettext_noop("Nothing waits for the event any more."),
    gettext_noop("Nothing waits for the message %(name)s."),
    gettext_noop("Only user event listeners can be made to occur."),
    gettext_noop("The condition of no start event holds."),
    gettext_noop("The event is in a suspended item of the case."),
    gettext_noop("The instance had not started in that version."),
    gettext_noop("It was changed without a new version: there is nothing to return from."),
    gettext_noop("Only a batch that is done or stopped can be undone, once."),
    gettext_noop("Only a batch that is under way can be stopped."),
    gettext_noop("Only a dry run or a stopped batch can be carried out."),
    gettext_noop("The batch has changed nothing."),
    gettext_noop("The instance has been started already."),
    gettext_noop("The instance has gone on since."),
    gettext_noop("The instance no longer exists."),
    gettext_noop("The definition has no other revision."),
    gettext_noop("The definition has no revision of this number that can be run."),
    gettext_noop("The instance has not been started."),
    gettext_noop("The instance has not started: retry its incident, or terminate it."),
    gettext_noop("The instance is %(status)s."),
    gettext_noop("The instance is not suspended."),
    gettext_noop("The instance is suspended already."),
    gettext_noop("The item is in a suspended stage or case."),
    gettext_noop("The instance runs this revision already."),
    gettext_noop("The item no longer exists."),
    gettext_noop("The revision has no counterpart for %(elements)s"),
    gettext_noop("The revision is of another notation."),
    gettext_noop("The process does not have exactly one start event without a trigger."),
    gettext_noop("The process has no start event %(name)s."),
    gettext_noop("The task completes when its process or case has ended."),
    gettext_noop("The task is in a suspended item of the case."),
    gettext_noop("The task is not open any more."),
    gettext_noop("The task is not open."),
    gettext_noop("The task is withheld: its instance is suspended, or has an incident about it."),
    gettext_noop("The timer is no longer running."),
    gettext_noop("The value of %(name)s is nested too deeply, or cannot be represented in JSON."),
    gettext_noop("The variables take more than %(bytes)s bytes."),
    gettext_noop("There is no open incident."),
    gettext_noop("This revision cannot be run: it is kept to look at."),
    gettext_noop("What the activity is repeated for is not a list."),
    gettext_noop("Variables are a map of names to values."),
)
_FAILURES = (
    gettext_noop("%(key)s is not a case."),
    gettext_noop("%(key)s is not a decision."),
    gettext_noop("%(key)s is not a process or a case."),
    gettext_noop("%(key)s is not a process."),
    gettext_noop("%(to)s is no active device or database of the enterprise %(enterprise)s."),
    gettext_noop("A chain of events would begin more than %(count)s instances of one definition in a minute."),
    gettext_noop("Events, handlers and timers without a wait have triggered one another %(count)s times in a row."),
    gettext_noop("More than %(count)s completed activities could be compensated."),
    gettext_noop("More than %(count)s processes and cases would call one another."),
    gettext_noop("More than %(count)s sub-processes, rounds and calls would lie inside one another."),
    gettext_noop("No outgoing flow's condition holds, and there is no default flow."),
    gettext_noop("Nothing catches the error %(code)s: %(reason)s"),
    gettext_noop("Nothing catches the error %(code)s."),
    gettext_noop(
        "Nothing in the instance can move any more: this join still waits for %(sources)s, and no token can come."
    ),
    gettext_noop("Nothing waits at this event."),
    gettext_noop("One command would go through more than %(count)s elements."),
    gettext_noop("One command would handle more than %(bytes)s bytes of variables."),
    gettext_noop("One command would take more than %(count)s steps in expressions and joins."),
    gettext_noop("The activity has no loop."),
    gettext_noop("The character NUL cannot be stored."),
    gettext_noop("The database %(database)s takes no messages."),
    gettext_noop("The definition belongs to no enterprise: there is nobody it may write to."),
    gettext_noop("The effects of one command would take more than %(bytes)s bytes."),
    gettext_noop("The expression does not return the key of a definition."),
    gettext_noop("The inputs would take more than %(bytes)s bytes."),
    gettext_noop("The message is larger than messages may be."),
    gettext_noop("The number of rounds is not a whole number from 0 to %(count)s."),
    gettext_noop("The type of an event has at most %(count)s characters."),
    gettext_noop("The variable %(name)s is not a list."),
    gettext_noop("The variables would take more than %(bytes)s bytes."),
    gettext_noop("The work failed."),
    gettext_noop("There is no active client %(client)s."),
    gettext_noop("There is no definition %(key)s to be called."),
    gettext_noop("There is no definition %(key)s."),
    gettext_noop("There is no revision %(revision)s of the definition %(key)s."),
    gettext_noop("There is no revision of the definition %(key)s with the tag %(tag)s."),
    gettext_noop("The expression does not return the number of a revision."),
    gettext_noop("The expression does not return a version tag."),
    gettext_noop("There is no element to start with."),
    gettext_noop("There is no start event without a trigger."),
    gettext_noop("There would be more than %(count)s items."),
    gettext_noop("There would be more than %(count)s tokens."),
    gettext_noop("`from` must name an active %(party)s of the enterprise."),
)
_TIMES = (
    gettext_noop("A cycle is written like R3/PT10M (three times) or R/PT1H (without an end)."),
    gettext_noop("A cycle repeats at least once."),
    gettext_noop("A cycle's interval is at least one second."),
    gettext_noop("A duration is written like PT30M, P1DT12H or P1M."),
    gettext_noop("A time is written like 2030-01-31T08:00:00Z, or as a duration like P2D."),
    gettext_noop("A time is written like 2030-01-31T08:00:00Z."),
    gettext_noop("The duration leads beyond the year 9999."),
    gettext_noop("The timer says no time."),
    gettext_noop("The timer's expression does not return a text in ISO 8601."),
)
_EXPRESSION_FAILURES = (
    gettext_noop("%(part)s cannot be evaluated here"),
    gettext_noop("%(function)s cannot read %(text)s"),
    gettext_noop("%(function)s takes only numbers or only strings"),
    gettext_noop("%(function)s is not defined for %(type)s"),
    gettext_noop("%(symbol)s is not defined for %(left)s and %(right)s"),
    gettext_noop("%(left)s and %(right)s cannot be compared by %(symbol)s"),
    gettext_noop("%(item)s cannot be looked for in %(type)s"),
    gettext_noop("%(type)s has no key that is %(item)s"),
    gettext_noop("%(type)s has no length"),
    gettext_noop("%(type)s has no negative"),
    gettext_noop("a key of a map is not text"),
    gettext_noop("a list or map of more than %(count)s items cannot be processed"),
    gettext_noop("a number is too large or undefined"),
    gettext_noop("a text of more than %(count)s characters cannot be processed"),
    gettext_noop("a value of type %(name)s is not JSON"),
    gettext_noop("division by zero"),
    gettext_noop("months and years have no fixed length: use days"),
    gettext_noop("more than %(count)s steps"),
    gettext_noop("nothing can be looked up in %(type)s"),
    gettext_noop("round takes 0 to %(count)s digits"),
    gettext_noop("text and a number cannot be added: use string(…) or number(…)"),
    gettext_noop("the moment is outside the years 1 to 9999"),
    # As an error of Python says it: behind the name of its class.
    gettext_noop("No handler is registered as %(name)s."),
)
_DECISION_FAILURES = (
    gettext_noop("A list of more than %(count)s items cannot be processed."),
    gettext_noop("A text of more than %(count)s characters cannot be processed."),
    gettext_noop("More than %(count)s functions of the file would call one another."),
    gettext_noop("Several rules of the decision match: %(mapping)s takes one."),
    gettext_noop("The decision has several outputs: collectEntries takes one."),
    gettext_noop("The decision has several outputs: singleEntry takes one."),
    gettext_noop("The decision would take more than %(count)s steps."),
    gettext_noop("The rules %(numbers)s match at once, which the hit policy UNIQUE does not allow."),
    gettext_noop("The rules %(numbers)s match with different outputs, which the hit policy ANY does not allow."),
)
_TYPES: dict[str, Promise] = {
    "a boolean": pgettext_lazy("value", "a boolean"),
    "a list": pgettext_lazy("value", "a list"),
    "a map": pgettext_lazy("value", "a map"),
    "a number": pgettext_lazy("value", "a number"),
    "another value": pgettext_lazy("value", "another value"),
    "text": pgettext_lazy("value", "text"),
}
_PARTIES: dict[str, Promise] = {"database": _("database"), "device": _("device")}
_NOT_SET = re.compile(r"(?P<reason>.+) \(not set: (?P<names>.+)\)", re.DOTALL)


def translate_reason(reason: str) -> str:
    """Return a reason of ours in the current language; one that is not listed stays as it is."""
    if hint := _NOT_SET.fullmatch(reason):
        words = gettext("%(reason)s (not set: %(names)s)")
        return words % {"reason": translate_reason(hint["reason"]), "names": hint["names"]}
    said = _KNOWN.translate(reason)
    return said if said != reason else _translate_behind_colon(reason)


def find_stored_reasons(part: str) -> list[StoredWords]:
    """Return by which words reasons are stored that say this in the current language; beside those that hold it."""
    return [*_KNOWN.find_stored(part), *_BEHIND_COLON.find_stored(part)]


def _translate_behind_colon(reason: str) -> str:
    """Translate what follows an expression, or the class of an error.

    From the right: an expression may have colons of its own, and so may a cause, which is then known as a whole.
    """
    place = reason.rfind(": ")
    while place != -1:
        cause = reason[place + 2 :]
        said = _BEHIND_COLON.translate(cause)
        if said != cause:
            return f"{reason[: place + 2]}{said}"
        place = reason.rfind(": ", 0, place)
    return reason


def _quote_names(text: str) -> str:
    """Return names in the quotation marks of the reader's language."""
    return re.sub("“(.*?)”", lambda found: gettext("“%(name)s”") % {"name": found[1]}, text, flags=re.DOTALL)


_KNOWN = KnownTexts(
    (*_REFUSALS, *_FAILURES, *_TIMES, *_DECISION_FAILURES),
    {
        "sources": _quote_names,
        "party": lambda kind: str(_PARTIES.get(kind, kind)),
        "state": state_label,
        "status": lambda status: str(Status(status).label) if status in Status.values else status,
    },
)
_BEHIND_COLON = KnownTexts(
    (*_EXPRESSION_FAILURES, *_TIMES, *_DECISION_FAILURES),
    dict.fromkeys(("type", "left", "right", "item"), lambda name: str(_TYPES.get(name, name))),
)
