from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.utils import quote, unquote
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.http import content_disposition_header
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from config.admin_base.pages import Question, actor_of
from config.admin_base.theme import action, display
from processes.workflows.admin.access import WorkflowAdmin
from processes.workflows.admin.dialog import Dialog, Outcome, run_dialog
from processes.workflows.admin.drawings import Drawing, draw_revision
from processes.workflows.admin.forms import StartForm, UploadForm
from processes.workflows.diagrams import POLICY, respond_with_diagram
from processes.workflows.models import WorkflowDefinition, WorkflowRevision
from processes.workflows.selectors import get_definition, get_revision, list_revisions
from processes.workflows.services.publish import publish_definition
from processes.workflows.services.start import StartRequest, start_from_form

REVISIONS_SHOWN = 50


@dataclass(frozen=True)
class DefinitionPage:
    revision: WorkflowRevision | None
    """The one whose diagram is shown."""
    drawings: list[Drawing]
    revisions: Sequence[WorkflowRevision]
    older: int | None
    """The next page begins below this revision."""


def build_definition_page(request: HttpRequest, definition: WorkflowDefinition) -> DefinitionPage:
    rows = list_revisions(definition.pk)
    chosen = _number(request, "revision")
    revision = rows.filter(number=chosen or definition.newest).first()
    below = _number(request, "before")
    found = list((rows.filter(number__lt=below) if below else rows)[: REVISIONS_SHOWN + 1])
    return DefinitionPage(
        revision=revision,
        drawings=[] if revision is None else [draw_revision(revision)],
        revisions=found[:REVISIONS_SHOWN],
        older=found[REVISIONS_SHOWN - 1].number if len(found) > REVISIONS_SHOWN else None,
    )


def _number(request: HttpRequest, name: str) -> int:
    """Return a number from the query string; 0 where it is none."""
    text = request.GET.get(name, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0


@admin.register(WorkflowDefinition)
class DefinitionAdmin(WorkflowAdmin[WorkflowDefinition]):
    list_display = ("label", "newest", "kind", "enterprise", "instances")
    list_select_related = ("enterprise",)
    search_fields = ("key", "name")
    search_help_text = _("Part of a key or a name")
    ordering = ("key",)
    actions_list = ("upload",)
    actions_detail = ("start", "upload_next")
    change_form_outer_after_template = "admin/workflows/definition.html"

    @display(description=_("definition"))
    def label(self, definition: WorkflowDefinition) -> SafeString:
        return format_html(
            '<div class="pst-workflow">{}<div class="pst-quiet">{}</div></div>', definition, definition.pk
        )

    @display(description=_("instances"))
    def instances(self, definition: WorkflowDefinition) -> SafeString:
        page = reverse("admin:workflows_workflowinstance_changelist", query={"definition": definition.pk})
        return format_html('<a class="pst-link" href="{}">{}</a>', page, gettext("Instances"))

    def get_fieldsets(self, request: HttpRequest, obj: WorkflowDefinition | None = None) -> Any:
        """Return none: the template below the buttons shows everything."""
        return []

    def get_queryset(self, request: HttpRequest) -> QuerySet[WorkflowDefinition]:
        return super().get_queryset(request).select_related("enterprise")

    def get_urls(self) -> list[URLPattern]:
        guard = self.admin_site.admin_view
        revision = "<path:object_id>/revisions/<int:number>"
        return [
            path(f"{revision}/diagram.svg", guard(self.diagram_view), name="workflows_revision_diagram"),
            path(f"{revision}/source/", guard(self.source_view), name="workflows_revision_source"),
            *super().get_urls(),
        ]

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        definition = self.get_object(request, unquote(object_id)) if self.has_view_permission(request) else None
        page = None if definition is None else build_definition_page(request, definition)
        return super().change_view(request, object_id, form_url, {**(extra_context or {}), "page": page})

    def diagram_view(self, request: HttpRequest, object_id: str, number: int) -> HttpResponse:
        self.check_view(request)
        answer = respond_with_diagram(get_revision(unquote(object_id), number))
        if answer is None:
            raise Http404
        return answer

    def source_view(self, request: HttpRequest, object_id: str, number: int) -> HttpResponse:
        self.check_view(request)
        key = unquote(object_id)
        revision = get_revision(key, number)
        name = f"{key}-{number}.{get_definition(key).kind}"
        headers = {
            "Content-Disposition": content_disposition_header(as_attachment=True, filename=name) or "attachment",
            # Should a browser show it all the same, it must not act in our name.
            "Content-Security-Policy": POLICY,
            "X-Content-Type-Options": "nosniff",
        }
        return HttpResponse(bytes(revision.source), content_type="application/octet-stream", headers=headers)

    @action(description=_("Upload"), permissions=["operate"], url_path="upload", icon="upload_file")
    def upload(self, request: HttpRequest) -> HttpResponse:
        return self._upload(request, None)

    @action(description=_("New revision"), permissions=["operate"], url_path="upload", icon="upload_file")
    def upload_next(self, request: HttpRequest, object_id: str) -> HttpResponse:
        return self._upload(request, get_definition(unquote(object_id)))

    @action(description=_("Start"), permissions=["operate"], url_path="start", icon="play_arrow")
    def start(self, request: HttpRequest, object_id: str) -> HttpResponse:
        definition = get_definition(unquote(object_id))
        question = Question(
            title=gettext("Start an instance"),
            text=gettext("Of “%(name)s”, revision %(revision)s, the newest.")
            % {"name": definition, "revision": definition.newest},
            button=gettext("Start"),
        )

        def act(answers: dict[str, Any]) -> Outcome:
            start = StartRequest(definition.pk, record=answers["record"], variables=answers["variables"])
            started = start_from_form(start, form_id=answers["form_id"], actor=actor_of(request), at=timezone.now())
            page = reverse("admin:workflows_workflowinstance_change", args=[started])
            return Outcome(gettext("The instance has been started."), page)

        form = StartForm(request.POST if request.method == "POST" else None)
        return run_dialog(self, request, Dialog(question, form, act, back=_page_of(definition.pk), subject=definition))

    def _upload(self, request: HttpRequest, definition: WorkflowDefinition | None) -> HttpResponse:
        """Publish the uploaded file, or show each problem in it with its element and line."""
        question = Question(
            title=gettext("Publish a definition"),
            text=gettext(
                "The file becomes the newest revision of the definition that its process or case names. Instances that "
                "run go on with the revision they have."
            ),
            button=gettext("Publish"),
        )

        def act(answers: dict[str, Any]) -> Outcome:
            owner = answers["enterprise"]
            made = publish_definition(
                source=answers["file"].read(),
                enterprise=None if owner is None else owner.pk,
                actor=actor_of(request),
                at=timezone.now(),
            )
            named = {"key": made.key, "revision": made.revision}
            if made.is_new:
                return Outcome(gettext("Published: “%(key)s”, revision %(revision)s.") % named, _page_of(made.key))
            message = gettext("This file has been published before: “%(key)s”, revision %(revision)s.") % named
            return Outcome(message, _page_of(made.key), messages.INFO)

        initial = {} if definition is None else {"enterprise": definition.enterprise_id}
        is_sent = request.method == "POST"
        form = UploadForm(request.POST if is_sent else None, request.FILES if is_sent else None, initial=initial)
        back = _page_of(definition.pk) if definition else reverse("admin:workflows_workflowdefinition_changelist")
        return run_dialog(self, request, Dialog(question, form, act, back, subject=definition))


def _page_of(key: str) -> str:
    return reverse("admin:workflows_workflowdefinition_change", args=[quote(key)])
