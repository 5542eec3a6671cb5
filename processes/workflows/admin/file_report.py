"""What becomes of a file, on the page of its revision: the first entries of each list, in the reader's language."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext, gettext_noop, ngettext

from config.common.known_texts import KnownTexts
from processes.workflows.admin.presentation import kind_label
from processes.workflows.engine.problems import Problem
from processes.workflows.models import WorkflowRevision
from processes.workflows.services.definitions.file_reports import get_file_report

SHOWN = 200
_TEXTS = KnownTexts(
    (
        gettext_noop("A cycle ends after its number of times, not at a date."),
        gettext_noop("A condition is looked at after every change of variables."),
        gettext_noop("A name is no expression here: the event has exactly this name."),
        gettext_noop("A timer has one time: the first that is written counts."),
        gettext_noop("A worker is given variables, no headers: declare an input instead."),
        gettext_noop("It begins at the first start event without a trigger."),
        gettext_noop("It belongs to another engine and has no effect here."),
        gettext_noop("It does not leave this element."),
        gettext_noop("It is code, and nothing of a file runs as code here."),
        gettext_noop("It is shown, and has no effect."),
        gettext_noop("It is the default: its condition is never looked at."),
        gettext_noop("It names no variable."),
        gettext_noop("It names nothing that could be called: it is passed through."),
        gettext_noop("Listeners are code of another engine: they are not called."),
        gettext_noop("No activity that undoes something is associated with it."),
        gettext_noop("No condition is looked at here: every way is taken."),
        gettext_noop("Only activities that wait or have parts have variables of their own."),
        gettext_noop("The name of a variable is one word of letters and digits."),
        gettext_noop("The number of a round is the variable loopCounter, which counts from 1."),
        gettext_noop("The process is not executable."),
        gettext_noop("An event of this place has no such type: it is passed through."),
        gettext_noop("Nothing triggers it."),
        gettext_noop("It has no logic: its result is given from outside."),
        gettext_noop("Version tags are not supported; the latest revision is called."),
        gettext_noop("This is not a revision number; the latest revision is called."),
        gettext_noop("the latest revision: files are published one at a time"),
        gettext_noop("revision %(number)s"),
        gettext_noop("A part of this type is not shown."),
        gettext_noop("Its values are made while it is shown: it is typed here."),
        gettext_noop("The form is not in the file: publish it together with the file."),
        gettext_noop("The form is elsewhere: it is not shown here."),
        gettext_noop("The form cannot be read."),
        gettext_noop("Nothing asks for it: an instance is started with its variables."),
        gettext_noop("This pattern is not supported; any text is accepted."),
        gettext_noop("the form of the task"),
        gettext_noop("It is attached to no activity."),
        gettext_noop("An element of this type does not belong into a process: it is passed through."),
        gettext_noop("An element of this type does not belong into a process."),
        gettext_noop("Nothing is waited for behind it: it is passed through."),
        gettext_noop("It is begun apart from the flow: nothing leads to it or from it."),
        gettext_noop("What undoes an activity is begun by compensation alone: nothing leads to it or from it."),
        gettext_noop("It is a number from 1: any other has no effect."),
        gettext_noop("How often work is tried is a literal here, such as R3/PT10M."),
        gettext_noop("Nothing in it could fail and be tried again."),
        gettext_noop("attempts: %(tries)s"),
        gettext_noop("in the scope of %(element)s"),
        gettext_noop("an association with what undoes its activity"),
        gettext_noop("%(variable)s, answered by external work, topic %(topic)s"),
        gettext_noop("external work, topic %(topic)s"),
        gettext_noop("waits for the message “%(name)s”"),
        gettext_noop("every step is stored before the next one begins"),
        gettext_noop("true: a way without a condition holds always"),
        gettext_noop("true: an error always interrupts"),
        gettext_noop("passed through: nothing is waited for"),
        gettext_noop("passed through: the result is kept nowhere"),
        gettext_noop("one round: nothing says how many"),
        gettext_noop("an event for each of them"),
        gettext_noop("everything in it begins at once"),
        gettext_noop("a flow to %(element)s"),
        gettext_noop("begins at %(elements)s"),
        gettext_noop("a start event for its message"),
        gettext_noop("a start event for each way behind it"),
        gettext_noop("its trigger is left out: it begins with its sub-process"),
        gettext_noop("the record of the caller: what it calls runs within it"),
        gettext_noop("the candidate group of its tasks that name nobody"),
        gettext_noop("whose the task is: literal names"),
        gettext_noop("A stage completes automatically always or never: here always."),
        gettext_noop("It waits for what it calls."),
        gettext_noop("What is called gets all variables that are visible."),
        gettext_noop("An element of this type has no such rule."),
        gettext_noop("The condition is code: the rule holds always."),
        gettext_noop("The number of an item is not kept in a variable."),
        gettext_noop("The stage waits for it, unless it has ended."),
        gettext_noop("It waits for nothing."),
        gettext_noop("An element of this type has no such criterion."),
        gettext_noop("An activity begins with each token, and sends one on."),
        gettext_noop("A message reaches the instance that has its record."),
        gettext_noop("The first event that happens is taken, and the others are not waited for."),
        gettext_noop("Nothing leads to a start event or a boundary event, or from an end event."),
        gettext_noop("It is not known here: each output is written under its own name."),
        gettext_noop("a case that is complete at once: its plan is empty"),
        gettext_noop("made to occur by hand"),
        gettext_noop("a task that a person completes"),
        gettext_noop("a stage that completes automatically"),
        gettext_noop("its stage completes without it"),
        gettext_noop("%(variable)s, a variable that is set from outside"),
        gettext_noop("it waits until it is planned, which starts it, and its stage does not wait for it"),
    )
)


@dataclass(frozen=True)
class FileEntry:
    label: str
    where: str
    before: str = ""
    after: str = ""


@dataclass(frozen=True)
class EntryList:
    title: str
    entries: list[FileEntry]
    count: int
    rest: str
    is_open: bool


@dataclass(frozen=True)
class FilePage:
    problems: Sequence[Problem]
    lists: list[EntryList]


def build_file_page(revision: WorkflowRevision) -> FilePage:
    file = get_file_report(revision)
    report = file.report
    lists = [
        _list(gettext("What runs"), report.runs, lambda entry: _entry(entry, kind_label(entry.what)), is_open=False),
        _list(
            gettext("Translated"),
            report.translated,
            lambda entry: _entry(entry, entry.what, entry.before, _TEXTS.translate(entry.after)),
        ),
        _list(
            gettext("Only drawn"),
            report.drawn,
            lambda entry: _entry(entry, entry.what, after=_TEXTS.translate(entry.why)),
        ),
    ]
    return FilePage(file.problems, [each for each in lists if each.count])


def _list(title: str, entries: Sequence[Any], show: Callable[[Any], FileEntry], *, is_open: bool = True) -> EntryList:
    hidden = max(0, len(entries) - SHOWN)
    rest = ngettext("and %(count)s more", "and %(count)s more", hidden) % {"count": hidden} if hidden else ""
    return EntryList(title, [show(entry) for entry in entries[:SHOWN]], len(entries), rest, is_open)


def _entry(entry: Any, what: str, before: str = "", after: str = "") -> FileEntry:
    line = gettext("line %(line)s") % {"line": entry.line}
    return FileEntry(entry.name or entry.element, f"{what} · {line}", before, after)
