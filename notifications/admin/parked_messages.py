from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import BinaryField, QuerySet
from django.db.models.functions import Substr
from django.http import HttpRequest, HttpResponse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from config.access.scopes import Scope, permission
from config.admin_base.pages import BigTableAdmin, Question, actor_of, ask_then_act, badge, get_subject, reason_field
from config.admin_base.theme import action, display
from config.common.actors import say_actor
from config.common.text import clean_text
from notifications.admin.events import as_code
from notifications.models import ParkedMessage
from notifications.services.parked_messages import discard_parked_message, resend_parked_message

SHOWN_BYTES = 10_000
COLOURS = {
    ParkedMessage.Status.PARKED: "danger",
    ParkedMessage.Status.RESENT: "success",
    ParkedMessage.Status.DISCARDED: "default",
}


class DiscardForm(forms.Form):
    reason = reason_field(_("Kept with the message, with your name."))


@admin.register(ParkedMessage)
class ParkedMessageAdmin(BigTableAdmin[ParkedMessage]):
    list_display = ("state", "queue", "parked_at", "summary", "beginning")
    list_filter = ("status", "queue")
    empty_text = _("A broker message that has failed five times is kept here for a decision.")
    not_listed = ("body", "properties")
    fields = (
        "state",
        "queue",
        "parked_at",
        "failures",
        "error",
        "content",
        "size",
        "said",
        "decided_at",
        "decider",
        "reason",
    )
    readonly_fields = ("state", "content", "size", "said", "decider")
    actions_detail = ("resend", "discard")
    actions_row = ("resend", "discard")

    def get_queryset(self, request: HttpRequest) -> QuerySet[ParkedMessage]:
        return super().get_queryset(request).annotate(head=Substr("body", 1, 200, output_field=BinaryField()))

    @display(description=_("status"), ordering="status")
    def state(self, parked: ParkedMessage) -> SafeString:
        status = ParkedMessage.Status(parked.status)
        return badge(status.label, COLOURS[status])

    @display(description=_("error"), ordering="error")
    def summary(self, parked: ParkedMessage) -> str:
        return _cut(parked.error.partition("\n")[0], 80)

    @display(description=_("body"))
    def beginning(self, parked: ParkedMessage) -> str:
        return _cut(clean_text(bytes(getattr(parked, "head"))), 60)  # noqa: B009

    @display(description=_("body"))
    def content(self, parked: ParkedMessage) -> SafeString:
        return format_html('<pre class="pst-code">{}</pre>', clean_text(bytes(parked.body), SHOWN_BYTES) or "–")

    @display(description=_("size in bytes"))
    def size(self, parked: ParkedMessage) -> int:
        return len(parked.body)

    @display(description=_("decided by"))
    def decider(self, parked: ParkedMessage) -> str:
        return say_actor(parked.decided_by)

    @display(description=_("properties"))
    def said(self, parked: ParkedMessage) -> SafeString:
        return as_code(parked.properties)

    def has_decide_permission(self, request: HttpRequest, object_id: str | None = None) -> bool:
        """Offer the actions to operators, until somebody has decided."""
        if not request.user.has_perm(f"records.{permission(Scope.OPERATIONS)}"):
            return False
        parked = None if object_id is None else self.get_object(request, object_id)
        return parked is None or parked.status == ParkedMessage.Status.PARKED

    @action(description=_("Send again"), permissions=["decide"], url_path="resend", icon="replay")
    def resend(self, request: HttpRequest, object_id: str) -> HttpResponse:
        parked = get_subject(self, request, object_id)
        question = Question(
            title=gettext("Send this message again?"),
            text=gettext("It goes to the end of the queue %(queue)s. If it fails as often again, it is parked again.")
            % {"queue": parked.queue},
            button=gettext("Send again"),
        )

        def act(answers: dict[str, Any]) -> str:
            resend_parked_message(message_id=parked.pk, actor=actor_of(request))
            return gettext("The message is back in its queue.")

        return ask_then_act(self, request, parked, question=question, act=act)

    @action(description=_("Discard"), permissions=["decide"], url_path="discard", icon="delete")
    def discard(self, request: HttpRequest, object_id: str) -> HttpResponse:
        parked = get_subject(self, request, object_id)
        question = Question(
            title=gettext("Discard this message?"),
            text=gettext("It will never be processed."),
            button=gettext("Discard"),
            dangerous=True,
        )

        def act(answers: dict[str, Any]) -> str:
            discard_parked_message(message_id=parked.pk, actor=actor_of(request), reason=answers["reason"])
            return gettext("The message has been discarded.")

        return ask_then_act(self, request, parked, question=question, act=act, form=DiscardForm(request.POST or None))


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1]}…"
