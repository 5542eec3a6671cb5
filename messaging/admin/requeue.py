"""The action that puts chosen messages back into the queue, with one reason for all."""

from collections.abc import Sequence
from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext, ngettext, ngettext_lazy

from config.admin_base.confirm_many import ManyAction, Report, Tally, apply_to_each, confirm_many
from config.admin_base.pages import Question, actor_of
from config.admin_base.theme import ModelAdmin
from messaging.admin.reason_form import ReasonForm
from messaging.models import Message
from messaging.services.requeue import requeue_message

MOST_AT_ONCE = 500
COUNTED = ngettext_lazy("%(number)s message:", "%(number)s messages:", "count")


def requeue_many(
    model_admin: ModelAdmin[Message], request: HttpRequest, chosen: QuerySet[Message]
) -> HttpResponse | None:
    """Ask for the reason; then requeue the messages that can be, report how many, and return to the list."""
    question = Question(
        title=gettext("Put these messages back into the queue?"),
        text=gettext("The database is offered each of them again. Messages that are not in Error are skipped."),
        button=gettext("Put back"),
    )

    def act(keys: Sequence[int], answers: dict[str, Any]) -> Tally:
        return Tally(
            *apply_to_each(
                keys, lambda pk: requeue_message(message_id=pk, reason=answers["reason"], actor=actor_of(request))
            )
        )

    many = ManyAction(question, act, _report, COUNTED, MOST_AT_ONCE, form=ReasonForm, shown_as="public_id")
    return confirm_many(model_admin, request, chosen, many)


def _report(tally: Tally) -> Report:
    done, refused = tally.done, tally.left_out
    said = ngettext(
        "%(count)d message has been put back into the queue.",
        "%(count)d messages have been put back into the queue.",
        done,
    )
    if not refused:
        return Report(said % {"count": done})
    left_out = ngettext(
        "%(count)d skipped: only messages in Error that still have a file can be put back.",
        "%(count)d skipped: only messages in Error that still have a file can be put back.",
        refused,
    )
    return Report(said % {"count": done}, left_out % {"count": refused})
