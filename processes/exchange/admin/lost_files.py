"""The question before a process goes on without files: which they are, whose, and what their receipts will say."""

from collections.abc import Sequence
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext, ngettext

from config.admin_base.pages import Question
from messaging.admin.reason_form import ReasonForm
from messaging.models import Message

Status = Message.Status


class ShownField(forms.CharField):
    """The messages that the person was shown: an agreement holds for no others."""

    widget = forms.HiddenInput

    def prepare_value(self, value: Any) -> Any:
        return value if isinstance(value, str) else ",".join(str(pk) for pk in value or ())

    def to_python(self, value: Any) -> Any:
        try:
            return [int(pk) for pk in (super().to_python(value) or "").split(",")]
        except ValueError as error:
            raise ValidationError(gettext("Open this page again: it does not say which files it is about.")) from error


class LostFilesForm(ReasonForm):
    shown = ShownField()


def build_question(lost: Sequence[Message]) -> Question:
    return Question(
        title=ngettext("Go on without this file?", "Go on without these %(count)d files?", len(lost))
        % {"count": len(lost)},
        text=gettext(
            "The ERP has committed, and what is named here lies in none of its folders. If you can restore it from a "
            "backup, do that and try again instead. Once the process goes on, this cannot be undone here; everything "
            "else of the process is moved as usual, and the database is free for the next one."
        ),
        button=ngettext("Go on without it", "Go on without them", len(lost)),
        dangerous=True,
        details=[(_name(message), _outcome(message)) for message in lost],
    )


def _name(message: Message) -> str:
    if message.direction == Message.Direction.REPLY:
        words = gettext("Reply %(id)s of %(database)s to %(device)s")
    else:
        words = gettext("Message %(id)s of %(device)s to %(database)s")
    return words % {"id": message.public_id, "database": message.database.name, "device": message.device.name}


def _outcome(message: Message) -> str:
    if message.direction == Message.Direction.REPLY:
        words = gettext(
            "%(device)s will never get it. Its receipt will say “incorrect”, code “unreadable”, with your reason; the "
            "receipt of message %(asked)s will not name it."
        )
        return words % {"device": message.device.name, "asked": message.reply_to or "–"}
    if message.status == Status.PROCESSED:
        return gettext("The ERP has processed it, and its receipt goes on saying “processed”. Log has no copy of it.")
    return gettext(
        "The ERP has refused it, and its receipt goes on saying “incorrect” with the ERP's words. Error has no copy of "
        "it: it cannot be put back into the queue."
    )
