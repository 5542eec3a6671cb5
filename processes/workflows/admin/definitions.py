from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.utils import quote, unquote
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
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
from processes.workflows.admin.decisions.page import DecisionPage, build_decision_page
from processes.workflows.admin.decisions.table_editor import edit_table, find_table, new_table
from processes.workflows.admin.dialog import Dialog, Outcome, run_dialog
from processes.workflows.admin.drawings import Drawing, compare_revisions, draw_revision, mark_changes
from processes.workflows.admin.file_report import FilePage, build_file_page
from processes.workflows.admin.forms import StartForm, UploadForm
from processes.workflows.admin.heat_card import HeatCard, build_heat_card, mark_heat
from processes.workflows.admin.scenarios import mark_coverage, scenarios_view
from processes.workflows.admin.shadow.page import (
    build_shadow_outcome,
    discard_view,
    mark_differences,
    promote_view,
    shadow_view,
)
from processes.workflows.diagrams import POLICY, mark_report, respond_with_diagram
from processes.workflows.engine.bpmn.xml import MAX_BYTES
from processes.workflows.engine.form_files import FormFile
from processes.workflows.engine.lint import Finding
from processes.workflows.findings import find_findings
from processes.workflows.models import WorkflowDefinition, WorkflowDraft, WorkflowRevision, WorkflowShadow
from processes.workflows.selectors import get_definition, get_revision, list_revisions
from processes.workflows.services.definitions.file_reports import get_file_report
from processes.workflows.services.definitions.publish import publish_definition
from processes.workflows.services.start import StartRequest, start_from_form
from processes.workflows.shadows import find_shadow

REVISIONS_SHOWN = 50


@dataclass(frozen=True)
class DefinitionPage:
    revision: WorkflowRevision | None
    """The one whose diagram is shown."""
    drawings: list[Drawing]
    revisions: Sequence[WorkflowRevision]
    older: int | None
    """The next page begins below this revision."""
    file: FilePage | None
    """What becomes of everything in the file of the shown revision."""
    decision: DecisionPage | None
    """Of a decision: its tables, and a form to try it."""
    findings: Sequence[Finding]
    """What may be wrong with the shown revision."""
    heat: HeatCard | None
    """How often and how long, of what can be run."""
    shadow: WorkflowShadow | None
    """The revision on trial, if there is one."""


def build_definition_page(request: HttpRequest, definition: WorkflowDefinition) -> DefinitionPage:
    rows = list_revisions(definition.pk)
    chosen = _number(request, "revision")
    revision = rows.filter(number=chosen or definition.newest).first()
    is_decision = definition.kind == WorkflowDefinition.Kind.DMN
    decision = build_decision_page(request, revision) if revision is not None and is_decision else None
    below = _number(request, "before")
    found = list((rows.filter(number__lt=below) if below else rows)[: REVISIONS_SHOWN + 1])
    has_heat = revision is not None and revision.is_executable and not is_decision
    heat = build_heat_card(request, revision) if revision is not None and has_heat else None
    return DefinitionPage(
        revision=revision,
        drawings=_draw(revision, is_decision=is_decision, query=heat.query if heat is not None else None),
        heat=heat,
        revisions=found[:REVISIONS_SHOWN],
        older=found[REVISIONS_SHOWN - 1].number if len(found) > REVISIONS_SHOWN else None,
        # A file of decisions that is kept to look at has problems, and nothing that could be tried.
        file=None if revision is None or decision is not None else build_file_page(revision),
        decision=decision,
        findings=find_findings(revision, at=timezone.now()) if revision is not None else (),
        shadow=find_shadow(definition.pk),
    )


def _draw(revision: WorkflowRevision | None, *, is_decision: bool, query: Mapping[str, str] | None) -> list[Drawing]:
    """Return the drawing of a revision; of decisions that require nothing there is none."""
    drawn = [] if revision is None else [draw_revision(revision, query=query)]
    return [each for each in drawn if each.address or not is_decision]


def _number(request: HttpRequest, name: str) -> int:
    """Return a number from the query string; 0 where it is none."""
    text = request.GET.get(name, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0


@admin.register(WorkflowDefinition)
class DefinitionAdmin(WorkflowAdmin[WorkflowDefinition]):
    list_display = ("label", "newest", "kind", "enterprise", "instances")
    empty_text = _("Upload a BPMN, CMMN or DMN file to begin.")
    list_select_related = ("enterprise",)
    search_fields = ("key", "name")
    search_help_text = _("Part of a key or a name")
    ordering = ("key",)
    actions_list = ("upload", "draw", "add_table")
    actions_detail = ("start", "upload_next", "draw_next", "edit_table")
    change_form_outer_after_template = "admin/workflows/definition.html"

    @display(description=_("definition"), ordering="name")
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
            path(f"{revision}/compare/<int:other>/", guard(self.compare_view), name="workflows_revision_compare"),
            path(f"{revision}/source/", guard(self.source_view), name="workflows_revision_source"),
            path("<path:object_id>/scenarios/", guard(self.scenarios_view), name="workflows_definition_scenarios"),
            path("<path:object_id>/shadow/", guard(self.shadow_view), name="workflows_definition_shadow"),
            path("<path:object_id>/shadow/promote/", guard(self.promote_view), name="workflows_shadow_promote"),
            path("<path:object_id>/shadow/discard/", guard(self.discard_view), name="workflows_shadow_discard"),
            *super().get_urls(),
        ]

    def scenarios_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        return scenarios_view(self, request, object_id)

    def shadow_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        return shadow_view(self, request, object_id)

    def promote_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        return promote_view(self, request, object_id)

    def discard_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        return discard_view(self, request, object_id)

    def get_actions_detail(self, request: HttpRequest, object_id: Any) -> list[Any]:
        """Return the buttons of a definition: a decision is neither started nor drawn, a table is edited."""
        definition = WorkflowDefinition.objects.filter(pk=unquote(str(object_id))).only("kind", "newest").first()
        is_decision = definition is not None and definition.kind == WorkflowDefinition.Kind.DMN
        hidden = ["start", "draw_next"] if is_decision else ["edit_table"]
        if is_decision and (definition is None or find_table(definition.pk, definition.newest) is None):
            hidden.append("edit_table")
        names = {f"{self.opts.app_label}_{self.opts.model_name}_{name}" for name in hidden}
        offered = super().get_actions_detail(request, object_id)  # type: ignore[misc]  # of the theme, which has no types
        return [each for each in offered if each.action_name not in names]

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        definition = self.get_object(request, unquote(object_id)) if self.has_view_permission(request) else None
        page = None if definition is None else build_definition_page(request, definition)
        return super().change_view(request, object_id, form_url, {**(extra_context or {}), "page": page})

    def diagram_view(self, request: HttpRequest, object_id: str, number: int) -> HttpResponse:
        self.check_view(request)
        revision = get_revision(unquote(object_id), number)
        other = _number(request, "against")
        if other:
            marks = mark_changes(revision, get_revision(revision.definition_id, other))
        elif "coverage" in request.GET and revision.is_executable:
            marks = mark_coverage(revision)
        elif (heat := mark_heat(request, revision)) is not None:
            marks = heat
        elif "differences" in request.GET:
            marks = mark_differences(revision)
        else:
            marks = mark_report(get_file_report(revision).report)
        answer = respond_with_diagram(revision, marks)
        if answer is None:
            raise Http404
        return answer

    def compare_view(self, request: HttpRequest, object_id: str, number: int, other: int) -> HttpResponse:
        """Show what changed from the earlier of two revisions to the later, as lists and on both drawings."""
        self.check_view(request)
        definition = get_definition(unquote(object_id))
        before, after = (get_revision(definition.pk, each) for each in sorted((number, other)))
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": gettext("Revisions %(before)s and %(after)s") % {"before": before.number, "after": after.number},
            "original": definition,
            "difference": compare_revisions(before, after),
            "drawings": [draw_revision(before, against=after), draw_revision(after, against=before)],
            "back": _page_of(definition.pk),
            "media": self.media,
        }
        return TemplateResponse(request, "admin/workflows/compare_revisions.html", context)

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

    @action(description=_("Draw"), permissions=["operate"], url_path="draw", icon="draw")
    def draw(self, request: HttpRequest) -> HttpResponse:
        return HttpResponseRedirect(reverse("admin:workflows_draft_new"))

    @action(description=_("New table"), permissions=["operate"], url_path="new-table", icon="table_chart")
    def add_table(self, request: HttpRequest) -> HttpResponse:
        return new_table(self, request)

    @action(description=_("Edit the table"), permissions=["operate"], url_path="table", icon="table_chart")
    def edit_table(self, request: HttpRequest, object_id: str) -> HttpResponse:
        return edit_table(self, request, get_definition(unquote(object_id)))

    @action(description=_("Edit the drawing"), permissions=["operate"], url_path="draw", icon="draw")
    def draw_next(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Open the latest draft of the definition, or its latest revision where there is none."""
        definition = get_definition(unquote(object_id))
        draft = WorkflowDraft.objects.filter(definition=definition).first()
        if draft is not None:
            return HttpResponseRedirect(reverse("admin:workflows_workflowdraft_change", args=[draft.pk]))
        return HttpResponseRedirect(reverse("admin:workflows_draft_new", query={"definition": definition.pk}))

    @action(description=_("Start"), permissions=["operate"], url_path="start", icon="play_arrow")
    def start(self, request: HttpRequest, object_id: str) -> HttpResponse:
        definition = get_definition(unquote(object_id))
        question = Question(
            title=gettext("Start an instance"),
            text=gettext("Definition “%(name)s”, latest revision: %(revision)s.")
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
                "The file becomes the latest revision of the definition named by its process or case. Running "
                "instances continue with their revision."
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
                strict=answers["strict"],
                drawing=answers["drawing"],
                forms=[FormFile(form.name, form.read(MAX_BYTES + 1)) for form in answers["linked_forms"]],
                shadow=answers["shadow"],
            )
            if made.is_shadow:
                return build_shadow_outcome(made)
            named = {"key": made.key, "revision": made.revision}
            if not made.is_executable:
                message = gettext("Kept to look at: “%(key)s”, revision %(revision)s. It cannot be run.") % named
                return Outcome(message, _page_of(made.key, made.revision), messages.WARNING)
            if made.is_new:
                return Outcome(gettext("Published: “%(key)s”, revision %(revision)s.") % named, _page_of(made.key))
            message = gettext("This file has already been published: “%(key)s”, revision %(revision)s.") % named
            return Outcome(message, _page_of(made.key), messages.INFO)

        initial = {} if definition is None else {"enterprise": definition.enterprise_id}
        is_sent = request.method == "POST"
        form = UploadForm(request.POST if is_sent else None, request.FILES if is_sent else None, initial=initial)
        back = _page_of(definition.pk) if definition else reverse("admin:workflows_workflowdefinition_changelist")
        return run_dialog(self, request, Dialog(question, form, act, back, subject=definition))


def _page_of(key: str, revision: int | None = None) -> str:
    query = {} if revision is None else {"revision": revision}
    return reverse("admin:workflows_workflowdefinition_change", args=[quote(key)], query=query)
