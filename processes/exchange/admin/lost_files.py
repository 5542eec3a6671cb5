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
            raise ValidationError(gettext("Open this page again: it does not say which files are meant.")) from error


class LostFilesForm(ReasonForm):
    shown = ShownField()


def build_question(lost: Sequence[Message]) -> Question:
    return Question(
        title=ngettext("Continue without this file?", "Continue without these %(count)d files?", len(lost))
        % {"count": len(lost)},
        text=gettext(
            "The ERP has committed, but the files listed here are in none of its folders. If you can restore them "
            "from a backup, do that and try again instead. Once the process continues, this cannot be undone here; "
            "everything else in the process is moved as usual, and the database is free for the next one."
        ),
        button=ngettext("Continue without it", "Continue without them", len(lost)),
        dangerous=True,
        details=[(_name(message), _outcome(message)) for message in lost],
    )


def _name(message: Message) -> str:
    if message.direction == Message.Direction.REPLY:
        words = gettext("Reply %(id)s from %(database)s to %(device)s")
    else:
        words = gettext("Message %(id)s from %(device)s to %(database)s")
    return words % {"id": message.public_id, "database": message.database.name, "device": message.device.name}


def _outcome(message: Message) -> str:
    if message.direction == Message.Direction.REPLY:
        words = gettext(
            "%(device)s will never get it. Its receipt will say “incorrect”, code “unreadable”, with your reason; it "
            "will not appear in the receipt of message %(asked)s."
        )
        return words % {"device": message.device.name, "asked": message.reply_to or "–"}
    if message.status == Status.PROCESSED:
        return gettext("The ERP has processed it, and its receipt still says “processed”. There is no copy in Log.")
    return gettext(
        "The ERP rejected it, and its receipt still says “incorrect” with the ERP's error text. There is no copy in "
        "Error: it cannot be put back into the queue."
    )
