"""How pages word the commands of plan items: on the button, in the question before, in what is said after."""

from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _


@dataclass(frozen=True)
class Wording:
    label: Promise
    title: Promise
    text: Promise
    said: Promise
    is_frequent: bool = False
    asks: bool = False
    """Whether the page asks before it does that."""


COMMANDS: dict[str, Wording] = {
    "start": Wording(
        _("Start"),
        _("Start “%(item)s”?"),
        _("It is active then, and what it stands for begins."),
        _("Started: “%(item)s”."),
        is_frequent=True,
    ),
    "occur": Wording(
        _("Occur"),
        _("Has “%(item)s” happened?"),
        _("Whatever waits for this event begins or ends at once."),
        _("Occurred: “%(item)s”."),
        is_frequent=True,
    ),
    "complete_item": Wording(
        _("Complete"),
        _("Complete “%(item)s”?"),
        _("It counts as done, and whatever in it has not begun ends with it."),
        _("Completed: “%(item)s”."),
        is_frequent=True,
    ),
    "disable": Wording(
        _("Disable"),
        _("Disable “%(item)s”?"),
        _("It cannot be started until it is enabled again, and nothing waits for it."),
        _("Disabled: “%(item)s”."),
    ),
    "reenable": Wording(
        _("Enable again"),
        _("Enable “%(item)s” again?"),
        _("It can be started then."),
        _("Enabled again: “%(item)s”."),
    ),
    "suspend_item": Wording(
        _("Suspend"),
        _("Suspend “%(item)s”?"),
        _("Its timers, jobs and events wait until it is resumed, and so do its tasks."),
        _("Suspended: “%(item)s”."),
    ),
    "resume_item": Wording(
        _("Resume"),
        _("Resume “%(item)s”?"),
        _("Timers that have become due meanwhile fire at once, and events that came are taken now."),
        _("Resumed: “%(item)s”."),
    ),
    "terminate_item": Wording(
        _("Terminate"),
        _("Terminate “%(item)s”?"),
        _(
            "It ends without being completed, and everything in it ends with it. What it has done outside stays done. "
            "The instance can be returned to an earlier version."
        ),
        _("Terminated: “%(item)s”."),
        asks=True,
    ),
}
