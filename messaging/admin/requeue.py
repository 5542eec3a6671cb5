"""The action that puts chosen messages back into the queue, with one reason for all."""

from collections.abc import Sequence
from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.formats import number_format
from django.utils.translation import gettext, ngettext

from config.admin_base.confirm_many import ManyAction, Report, apply_to_each, confirm_many
from config.admin_base.pages import Question, actor_of
from config.admin_base.theme import ModelAdmin
from messaging.admin.reason_form import ReasonForm
from messaging.models import Message
from messaging.services.requeue import requeue_message

MOST_AT_ONCE = 500


def requeue_many(
    model_admin: ModelAdmin[Message], request: HttpRequest, chosen: QuerySet[Message]
) -> HttpResponse | None:
    """Ask for the reason; then requeue the messages that can be, report how many, and return to the list."""
    question = Question(
        title=gettext("Put these messages back into the queue?"),
        text=gettext("The database is offered each of them again. Those that did not end in Error are left out."),
        button=gettext("Put back"),
    )

    def act(keys: Sequence[int], answers: dict[str, Any]) -> Report:
        done, refused = apply_to_each(
            keys, lambda pk: requeue_message(message_id=pk, reason=answers["reason"], actor=actor_of(request))
        )
        return _report(done, refused)

    many = ManyAction(question, act, _count_words, MOST_AT_ONCE, form=ReasonForm, shown_as="public_id")
    return confirm_many(model_admin, request, chosen, many)


def _count_words(count: int) -> str:
    return ngettext("%(number)s message:", "%(number)s messages:", count) % {"number": number_format(count)}


def _report(done: int, refused: int) -> Report:
    said = ngettext("%(count)d message is back in the queue.", "%(count)d messages are back in the queue.", done)
    if not refused:
        return Report(said % {"count": done})
    left_out = ngettext(
        "%(count)d was left out: only what ended in Error, and has a file, can go back.",
        "%(count)d were left out: only what ended in Error, and has a file, can go back.",
        refused,
    )
    return Report(said % {"count": done}, left_out % {"count": refused})
