"""Drawings in the page: the modeler over a draft that is saved as one draws."""

import uuid
from collections.abc import Iterable
from typing import Any
from uuid import UUID

import msgspec
from django import forms
from django.conf import settings
from django.contrib import admin
from django.contrib.admin.utils import quote
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_GET, require_POST
from lxml import etree

from config.admin_base.pages import Question, actor_of
from config.admin_base.theme import action, display
from config.common.actors import say_actor
from config.common.errors import ApplicationError
from config.common.web.json_codec import BadJson, decode_json
from processes.workflows.admin.access import WorkflowAdmin
from processes.workflows.admin.dialog import Dialog, Outcome, run_dialog
from processes.workflows.admin.forms import OwnerForm
from processes.workflows.admin.presentation import explain_refusal
from processes.workflows.admin.shadow.page import build_shadow_outcome
from processes.workflows.engine.bpmn.xml import MAX_BYTES, parse_tree
from processes.workflows.engine.problems import Problem
from processes.workflows.errors import DraftNotFound
from processes.workflows.models import WorkflowDraft
from processes.workflows.selectors import get_definition, get_revision
from processes.workflows.services.definitions.drafts import (
    Origin,
    check_drawing,
    discard_draft,
    publish_draft,
    save_draft,
)

LARGEST_CALL = 2 * MAX_BYTES
"""Of a drawing as JSON, which writes some characters longer."""

HANDLERS = ("event", "webhook", "alert", "message", "external")

EMPTY = """<?xml version="1.0" encoding="UTF-8"?>
<bpmn:definitions xmlns:bpmn="http://www.omg.org/spec/BPMN/20100524/MODEL"
  xmlns:bpmndi="http://www.omg.org/spec/BPMN/20100524/DI" xmlns:dc="http://www.omg.org/spec/DD/20100524/DC"
  xmlns:postern="https://postern.dev/bpmn/1.0" targetNamespace="https://postern.dev/drawn">
  <bpmn:process id="process_{token}" isExecutable="true">
    <bpmn:startEvent id="start"/>
  </bpmn:process>
  <bpmndi:BPMNDiagram id="diagram">
    <bpmndi:BPMNPlane id="plane" bpmnElement="process_{token}">
      <bpmndi:BPMNShape id="start_shape" bpmnElement="start">
        <dc:Bounds x="180" y="160" width="36" height="36"/>
      </bpmndi:BPMNShape>
    </bpmndi:BPMNPlane>
  </bpmndi:BPMNDiagram>
</bpmn:definitions>
"""


class Drawn(msgspec.Struct):
    """What the page sends when it saves."""

    draft: UUID
    version: int
    source: str
    definition: str = ""
    revision: int = 0


@admin.register(WorkflowDraft)
class DraftAdmin(WorkflowAdmin[WorkflowDraft]):
    list_display = ("label", "definition", "who", "saved_at")
    list_display_links = ("label",)
    list_select_related = ("definition",)
    not_listed = ("source",)
    search_fields = ("name", "definition__key")
    search_help_text = _("Part of a name or a key")
    ordering = ("-saved_at",)
    actions_list = ("draw",)
    empty_text = _("Draw a process to begin; it is saved here until you publish it.")

    @display(description=_("draft"), ordering="name")
    def label(self, draft: WorkflowDraft) -> str:
        return draft.name or gettext("Not runnable yet")

    @display(description=_("who"), ordering="actor")
    def who(self, draft: WorkflowDraft) -> str:
        return say_actor(draft.actor)

    def get_urls(self) -> list[URLPattern]:
        guard = self.admin_site.admin_view
        return [
            path("save/", guard(require_POST(self.save_view)), name="workflows_draft_save"),
            path("new/", guard(require_GET(self.new_view)), name="workflows_draft_new"),
            path("<uuid:draft_id>/publish/", guard(self.publish_view), name="workflows_draft_publish"),
            path("<uuid:draft_id>/discard/", guard(self.discard_view), name="workflows_draft_discard"),
            *super().get_urls(),
        ]

    @action(description=_("Draw"), permissions=["operate"], url_path="draw", icon="draw")
    def draw(self, request: HttpRequest) -> HttpResponse:
        return self.new_view(request)

    def new_view(self, request: HttpRequest) -> HttpResponse:
        """Open the modeler on a revision, or on nothing; no draft is kept before something is drawn."""
        self.check_operate(request)
        key = request.GET.get("definition", "")
        if not key:
            draft = WorkflowDraft(name=gettext("New process"), source=EMPTY.format(token=uuid.uuid4().hex[:8]))
            return self._show(request, draft, version=0)
        definition = get_definition(key)
        number = request.GET.get("revision", "")
        revision = get_revision(key, int(number) if number.isascii() and number.isdigit() else definition.newest)
        source = etree.tostring(parse_tree(bytes(revision.source)), encoding="unicode")
        draft = WorkflowDraft(definition=definition, revision=revision.number, name=str(definition), source=source)
        return self._show(request, draft, version=0)

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        self.check_view(request)
        draft = self.get_object(request, object_id)
        if draft is None:
            raise Http404
        return self._show(request, draft, version=draft.version)

    def save_view(self, request: HttpRequest) -> HttpResponse:
        """Save what is drawn; the answer says which version that is and why it could not run."""
        self.check_operate(request)
        try:
            if len(request.body) > LARGEST_CALL:
                return JsonResponse({"error": gettext("The drawing is too large.")}, status=413)
            drawn = msgspec.convert(decode_json(request.body), Drawn, strict=False)
        except (BadJson, msgspec.ValidationError):
            return JsonResponse({"error": gettext("The page is out of date: load it again.")}, status=400)
        origin = Origin(get_definition(drawn.definition).pk, drawn.revision) if drawn.definition else None
        try:
            saved = save_draft(
                drawn.draft,
                drawn.source,
                version=drawn.version,
                origin=origin,
                actor=actor_of(request),
                at=timezone.now(),
            )
        except ApplicationError as error:
            return JsonResponse({"error": explain_refusal(error)}, status=409)
        return JsonResponse(
            {
                "version": saved.version,
                "name": saved.name,
                "page": reverse("admin:workflows_workflowdraft_change", args=[drawn.draft]),
                "problems": _describe(saved.problems),
            }
        )

    def publish_view(self, request: HttpRequest, draft_id: UUID) -> HttpResponse:
        self.check_operate(request)
        draft = self._get(draft_id)
        question = Question(
            title=gettext("Publish the drawing"),
            text=gettext(
                "It becomes the latest revision of the definition named by its process. Running instances continue "
                "with their revision."
            ),
            button=gettext("Publish"),
        )

        def act(answers: dict[str, Any]) -> Outcome:
            owner = answers["enterprise"]
            made = publish_draft(
                draft_id,
                version=answers["version"],
                enterprise=None if owner is None else owner.pk,
                actor=actor_of(request),
                at=timezone.now(),
                shadow=answers["shadow"],
            )
            if made.is_shadow:
                return build_shadow_outcome(made)
            page = reverse("admin:workflows_workflowdefinition_change", args=[quote(made.key)])
            named = {"key": made.key, "revision": made.revision}
            return Outcome(gettext("Published: “%(key)s”, revision %(revision)s.") % named, page)

        enterprise = draft.definition.enterprise_id if draft.definition else None
        initial = {"version": draft.version, "enterprise": enterprise}
        form = OwnerForm(request.POST if request.method == "POST" else None, initial=initial)
        return run_dialog(self, request, Dialog(question, form, act, back=_page_of(draft), subject=draft))

    def discard_view(self, request: HttpRequest, draft_id: UUID) -> HttpResponse:
        self.check_operate(request)
        draft = self._get(draft_id)
        question = Question(
            title=gettext("Discard the draft"),
            text=gettext("What was drawn since the last publication is deleted. Published revisions stay."),
            button=gettext("Discard"),
            dangerous=True,
        )

        def act(_answers: dict[str, Any]) -> Outcome:
            discard_draft(draft_id)
            return Outcome(
                gettext("The draft has been discarded."), reverse("admin:workflows_workflowdraft_changelist")
            )

        form = forms.Form(request.POST if request.method == "POST" else None)
        return run_dialog(self, request, Dialog(question, form, act, back=_page_of(draft), subject=draft))

    def _get(self, draft_id: UUID) -> WorkflowDraft:
        found = WorkflowDraft.objects.select_related("definition").filter(pk=draft_id).first()
        if found is None:
            raise DraftNotFound
        return found

    def _show(self, request: HttpRequest, draft: WorkflowDraft, *, version: int) -> HttpResponse:
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": draft.name or gettext("Draft"),
            "draft": draft,
            "version": version,
            "problems": _describe(check_drawing(draft.source)[1]) if version else [],
            "handlers": HANDLERS,
            "is_installed": settings.MODELER_ASSETS.is_dir(),
            "may_draw": self.has_operate_permission(request),
            "media": self.media,
        }
        return TemplateResponse(request, "admin/workflows/draft.html", context)


def _describe(problems: Iterable[Problem]) -> list[dict[str, str]]:
    return [{"element": each.element, "message": each.message} for each in problems]


def _page_of(draft: WorkflowDraft) -> str:
    return reverse("admin:workflows_workflowdraft_change", args=[draft.pk])
