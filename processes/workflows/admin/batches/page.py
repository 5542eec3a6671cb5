"""The list of batches, and the page of one: how far it is, what became of how many, what can be done with it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import msgspec
from django import forms
from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern, path, reverse
from django.utils.safestring import SafeString
from django.utils.translation import gettext, ngettext, pgettext, pgettext_lazy
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_POST

from config.admin_base.pages import Question, actor_of, ask_then_act, badge, get_subject, reason_field
from config.admin_base.theme import display
from config.common.actors import say_actor
from config.common.errors import ApplicationError
from processes.workflows.admin.access import WorkflowAdmin
from processes.workflows.admin.batches.words import Pairs, say_choice, say_parameters
from processes.workflows.admin.forms import LONGEST_REASON
from processes.workflows.admin.presentation import explain_refusal
from processes.workflows.admin.subject_names import name_instances
from processes.workflows.models import BatchItem, WorkflowBatch
from processes.workflows.reasons import translate_reason
from processes.workflows.selectors import OutcomeGroup, list_outcomes
from processes.workflows.services.batches.create import carry_out, stop_batch, undo_batch

Run = WorkflowBatch.Status
COLOURS = {
    Run.CHECKING: "info",
    Run.CHECKED: "warning",
    Run.RUNNING: "info",
    Run.STOPPED: "warning",
    Run.DONE: "success",
    Run.UNDOING: "info",
    Run.UNDONE: "default",
}
ITEM_COLOURS = {
    BatchItem.Status.WAITING: "default",
    BatchItem.Status.POSSIBLE: "info",
    BatchItem.Status.CHANGED: "success",
    BatchItem.Status.REFUSED: "danger",
    BatchItem.Status.UNDONE: "default",
    BatchItem.Status.KEPT: "warning",
}


class UndoForm(forms.Form):
    reason = reason_field(_("Shown in the version tree, with your name."), longest=LONGEST_REASON)


@dataclass(frozen=True)
class ShownOutcome:
    badge: SafeString
    reason: str
    count: int
    examples: list[tuple[UUID, str]]
    """Instances, each with what it is called."""


@dataclass(frozen=True)
class BatchPage:
    badge: SafeString
    summary: str
    chosen_by: Pairs
    parameters: Pairs
    outcomes: list[ShownOutcome]
    warning: str
    """What is to be considered before it is carried out."""
    may_carry_out: bool
    may_continue: bool
    may_stop: bool
    may_undo: bool


def build_batch_page(batch: WorkflowBatch, *, may_act: bool) -> BatchPage:
    groups = list_outcomes(batch.pk)
    names = name_instances(example for group in groups for example in group.examples)
    return BatchPage(
        badge=badge(Run(batch.status).label, COLOURS[Run(batch.status)]),
        summary=summarize(batch),
        chosen_by=say_choice(msgspec.json.decode(batch.wanted)),
        parameters=say_parameters(batch),
        outcomes=[_show_outcome(group, batch, names) for group in groups],
        warning=_warn(batch),
        may_carry_out=may_act and batch.status == Run.CHECKED and batch.changed > 0,
        may_continue=may_act and batch.status == Run.STOPPED and batch.left > 0,
        may_stop=may_act and batch.status == Run.RUNNING,
        may_undo=may_act and batch.status in (Run.DONE, Run.STOPPED) and batch.changed > 0,
    )


def summarize(batch: WorkflowBatch) -> str:
    """Say in a sentence what has become of the instances."""
    if not batch.total:
        return gettext("No instance was chosen.")
    if batch.status in (Run.CHECKING, Run.CHECKED):
        done = ngettext(
            "%(count)d instance would be changed.", "%(count)d instances would be changed.", batch.changed
        ) % {"count": batch.changed}
        refused = ngettext("%(count)d would be refused.", "%(count)d would be refused.", batch.refused)
    else:
        done = ngettext(
            "%(count)d instance has been changed.", "%(count)d instances have been changed.", batch.changed
        ) % {"count": batch.changed}
        refused = ngettext("%(count)d was refused.", "%(count)d were refused.", batch.refused)
    sentences = [done, refused % {"count": batch.refused} if batch.refused else ""]
    if batch.status == Run.STOPPED or batch.stopped_by:
        left = ngettext("%(count)d was not begun.", "%(count)d were not begun.", batch.left)
        sentences.append(left % {"count": batch.left})
    if batch.status in (Run.UNDOING, Run.UNDONE):
        undone = ngettext(
            "%(count)d instance has been returned.", "%(count)d instances have been returned.", batch.undone
        )
        kept = ngettext("%(count)d was left as it is.", "%(count)d were left as they are.", batch.kept)
        sentences += [undone % {"count": batch.undone}, kept % {"count": batch.kept} if batch.kept else ""]
    return " ".join(filter(None, sentences))


def _show_outcome(group: OutcomeGroup, batch: WorkflowBatch, names: Mapping[UUID, str]) -> ShownOutcome:
    status = BatchItem.Status(group.status)
    is_left = status == BatchItem.Status.WAITING and not batch.is_under_way
    words = pgettext("batch item", "not begun") if is_left else status.label
    examples = [(each, names.get(each, str(each))) for each in group.examples]
    return ShownOutcome(badge(words, ITEM_COLOURS[status]), translate_reason(group.reason), group.count, examples)


def _warn(batch: WorkflowBatch) -> str:
    if batch.operation == WorkflowBatch.Operation.TERMINATE:
        return gettext(
            "Everything they are waiting for is cancelled. What they have done outside cannot be undone. Their "
            "versions stay, and each can be returned to any of them."
        )
    return gettext("Each instance is judged anew when its turn comes. The batch can be undone afterwards.")


@admin.register(WorkflowBatch)
class BatchAdmin(WorkflowAdmin[WorkflowBatch]):
    list_display = ("label", "state", "outcome", "who", "created_at")
    list_display_links = ("label",)
    empty_text = _("Select instances in their list and choose an action.")
    ordering = ("-id",)
    change_form_outer_after_template = "admin/workflows/batch.html"

    class Media:
        css = {"all": ["postern/deliveries.css"]}  # the bar

    @display(description=_("operation"), ordering="operation")
    def label(self, batch: WorkflowBatch) -> str:
        return str(batch)

    @display(description=_("status"), ordering="status")
    def state(self, batch: WorkflowBatch) -> SafeString:
        return badge(Run(batch.status).label, COLOURS[Run(batch.status)])

    @display(description=pgettext_lazy("batch", "outcome"), ordering="changed")
    def outcome(self, batch: WorkflowBatch) -> str:
        return summarize(batch)

    @display(description=_("who"), ordering="actor")
    def who(self, batch: WorkflowBatch) -> str:
        return say_actor(batch.actor)

    def get_fieldsets(self, request: HttpRequest, obj: WorkflowBatch | None = None) -> Any:
        """Return none: the template below the title shows everything."""
        return []

    def get_urls(self) -> list[URLPattern]:
        guard, one = self.admin_site.admin_view, "<uuid:batch_id>"
        return [
            path(f"{one}/run/", guard(require_POST(self.run_view)), name="workflows_batch_run"),
            path(f"{one}/stop/", guard(require_POST(self.stop_view)), name="workflows_batch_stop"),
            path(f"{one}/undo/", guard(self.undo_view), name="workflows_batch_undo"),
            *super().get_urls(),
        ]

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        batch = self.get_object(request, object_id) if self.has_view_permission(request) else None
        may_act = self.has_operate_permission(request)
        page = None if batch is None else build_batch_page(batch, may_act=may_act)
        return super().change_view(request, object_id, form_url, {**(extra_context or {}), "page": page})

    def run_view(self, request: HttpRequest, batch_id: UUID) -> HttpResponse:
        return self._act(request, batch_id, carry_out)

    def stop_view(self, request: HttpRequest, batch_id: UUID) -> HttpResponse:
        return self._act(request, batch_id, stop_batch)

    def _act(self, request: HttpRequest, batch_id: UUID, act: Callable[..., WorkflowBatch]) -> HttpResponse:
        self.check_operate(request)
        try:
            act(batch_id, actor=actor_of(request))
        except ApplicationError as error:
            messages.error(request, explain_refusal(error))
        return HttpResponseRedirect(reverse("admin:workflows_workflowbatch_change", args=[batch_id]))

    def undo_view(self, request: HttpRequest, batch_id: UUID) -> HttpResponse:
        self.check_operate(request)
        batch = get_subject(self, request, str(batch_id))

        def act(answers: dict[str, Any]) -> str:
            undo_batch(batch.pk, reason=answers["reason"], actor=actor_of(request))
            return gettext("The undo has begun.")

        question = Question(
            title=gettext("Undo this batch?"),
            text=gettext(
                "Each instance that has not gone on since is returned to the version before the batch: its open work "
                "is reopened. The others stay as they are and are listed with the reason."
            ),
            button=gettext("Undo"),
        )
        form = UndoForm(request.POST if request.method == "POST" else None)
        return ask_then_act(self, request, batch, question=question, act=act, form=form)
