"""Give messages of a process back to the queue, or say where their files now belong. Statements, no rows in memory."""

from typing import Any

from django.db.models import Case, CharField, F, IntegerField, OuterRef, Q, QuerySet, Subquery, Value, When
from django.db.models.functions import Cast, Coalesce, Now
from django.utils.translation import gettext_noop

from messaging.models import Message
from messaging.services.set_aside import SETBACKS
from messaging.subjects import subject_of
from notifications.services.alerts import close_alert, raise_alert
from processes.exchange.models import ExchangeProcess, ProcessMessage

Folder, Status, Result = Message.Folder, Message.Status, ProcessMessage.Result
PATIENCE = 5
"""So many setbacks running, and a message is offered after the others."""
# The columns hold no more than 32,767, and nobody need count so far.
MOST_SETBACKS = 30_000
MOST_ISOLATION = 20
INT = IntegerField()
OVERDUE = Q(setbacks__gte=PATIENCE - 1)
"""The next setback is one too many."""


def requests_of(process: ExchangeProcess, *results: str) -> QuerySet[Message]:
    """Return the requests that the process holds, of these results alone if any are named."""
    held = Message.objects.filter(process=process.pk, direction=Message.Direction.REQUEST)
    if not results:
        return held
    named = ProcessMessage.objects.filter(process=process, result__in=results, is_left_out=False)
    return held.filter(pk__in=named.values("message"))


def replies_of(process: ExchangeProcess) -> QuerySet[Message]:
    return Message.objects.filter(process=process.pk, direction=Message.Direction.REPLY)


def send_to(folder: str, messages: QuerySet[Message], **changes: Any) -> None:
    """Say where the files belong from now on; where that is another place, a move is owed."""
    lies_in = Case(When(moving_from="", then=F("folder")), default=F("moving_from"))
    owed = Case(When(_lies_in=Value(folder), then=Value("")), default=F("_lies_in"))
    messages.annotate(_lies_in=lies_in).update(
        moving_from=owed, folder=folder, arrived_at=Now(), updated_at=Now(), **changes
    )


def give_back(messages: QuerySet[Message], *, error_text: str = "") -> None:
    """Offer the messages again."""
    send_to(Folder.MESSAGES, messages, status=Status.WAITING, process=None, error_text=error_text, error_code="")


def give_back_after_setback(messages: QuerySet[Message]) -> None:
    """Offer messages again that were left out or deadlocked; at the fifth time running they stand behind the others."""
    keys = _keys(messages)
    Message.objects.filter(pk__in=keys).update(status=Status.WAITING, process=None, updated_at=Now())
    _count_setback(keys)


def give_back_after_failure(messages: QuerySet[Message], *, error_text: str = "") -> None:
    """Offer messages again with which the ERP fell silent or rolled back: one of them may be why.

    From the fifth time running they stand behind the others, and each time in a list half as long: whichever it is
    will soon be alone, behind those that it held up.
    """
    keys = _keys(messages)
    give_back(Message.objects.filter(pk__in=keys), error_text=error_text)
    isolation = Case(
        When(OVERDUE, then=_one_more("isolation", MOST_ISOLATION)), default=F("isolation"), output_field=INT
    )
    _count_setback(keys, isolation=isolation)


def _keys(messages: QuerySet[Message]) -> list[int]:
    """Name the messages before they are given back: afterwards no process finds them."""
    return list(messages.values_list("pk", flat=True))


def _count_setback(keys: list[int], **changes: Any) -> None:
    Message.objects.filter(pk__in=keys).update(
        setbacks=_one_more("setbacks", MOST_SETBACKS),
        is_postponed=Case(When(OVERDUE, then=Value(True)), default=F("is_postponed")),
        **changes,
    )
    for message in Message.objects.filter(pk__in=keys, setbacks__gte=PATIENCE):
        title = gettext_noop(
            "Message %(message)s to %(database)s was left out, deadlocked, rolled back or never answered"
            " %(times)s times running"
        )
        detail = {"message": message.public_id, "database": message.database_id, "times": message.setbacks}
        raise_alert(SETBACKS, subject_of(message), title, detail)


def _one_more(column: str, most: int) -> Case:
    return Case(When(**{f"{column}__gte": most}, then=F(column)), default=F(column) + 1, output_field=INT)


def heal_setbacks(messages: QuerySet[Message]) -> None:
    """The ERP has processed these messages after all: nobody need look after them."""
    for message in messages.filter(setbacks__gte=PATIENCE):
        close_alert(SETBACKS, subject_of(message), gettext_noop("the message is processed"))


def said_of(process: ExchangeProcess, column: str) -> Any:
    """Return what the ERP said of each message in this process, as a column for an update."""
    entry = ProcessMessage.objects.filter(process=process, message=OuterRef("pk"))
    said = Cast(Subquery(entry.values(column)[:1]), CharField())
    return Coalesce(said, Value(""))
