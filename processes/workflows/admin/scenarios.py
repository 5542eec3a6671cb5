"""The page of a definition's scenarios: what is expected, what came of it, and which elements nobody tries."""

from base64 import b64encode
from dataclasses import replace
from functools import partial
from typing import Any

from django import forms
from django.contrib.admin.utils import quote, unquote
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from config.admin_base.json_text import format_json, json_widget
from config.admin_base.pages import Question, actor_of
from processes.workflows.admin.access import WorkflowAdmin
from processes.workflows.admin.dialog import Dialog, Outcome, run_dialog
from processes.workflows.admin.drawings import Drawing, draw_revision
from processes.workflows.diagrams import respond_with_diagram
from processes.workflows.engine.diagram import Marks, Note
from processes.workflows.engine.diagram.colours import OFFERED
from processes.workflows.engine.scenarios import list_coverable
from processes.workflows.models import WorkflowDefinition, WorkflowRevision, WorkflowScenarios
from processes.workflows.scenario_words import say_failure
from processes.workflows.selectors import get_definition, get_revision
from processes.workflows.services.definitions.library import get_compiled
from processes.workflows.services.definitions.scenarios import LARGEST, Rehearsal, rehearse, save_scenarios


class ScenariosForm(forms.Form):
    scenarios = forms.CharField(
        label=_("Scenarios"),
        required=False,
        max_length=LARGEST,
        help_text=_("A JSON list. Each scenario has a name and steps: complete, work, message, event, wait, expect."),
        widget=json_widget(rows=18),
    )


def scenarios_view(model_admin: WorkflowAdmin[Any], request: HttpRequest, object_id: str) -> HttpResponse:
    """Show what came of the scenarios against the latest revision; whoever may publish may change them."""
    model_admin.check_view(request)
    if request.method != "GET":
        model_admin.check_operate(request)
    definition = get_definition(unquote(object_id))
    row = WorkflowScenarios.objects.filter(pk=definition.pk).first()
    page = reverse("admin:workflows_definition_scenarios", args=[quote(definition.pk)])

    def act(answers: dict[str, Any]) -> Outcome:
        save_scenarios(definition, answers["scenarios"] or "[]", actor=actor_of(request), at=timezone.now())
        return Outcome(gettext("The scenarios have been saved."), page)

    question = Question(
        title=gettext("Scenarios"),
        text=gettext("A new file of this definition is published only if it does what is expected here."),
        button=gettext("Save"),
    )
    text = format_json(row.body, longest=LARGEST) if row else ""
    form = ScenariosForm(request.POST if request.method == "POST" else None, initial={"scenarios": text})
    extra = partial(_read_page, definition, may_save=model_admin.has_operate_permission(request))
    template = "admin/workflows/scenarios.html"
    back = reverse("admin:workflows_workflowdefinition_change", args=[quote(definition.pk)])
    return run_dialog(model_admin, request, Dialog(question, form, act, back, definition, template, extra))


def mark_coverage(revision: WorkflowRevision) -> Marks:
    """Return the marks of a drawing: what the scenarios enter, and what none of them does."""
    return _mark(_rehearse(revision, get_definition(revision.definition_id)))


def _mark(found: Rehearsal) -> Marks:
    missed = Note(OFFERED, "?", gettext("no scenario comes here"))
    entered = frozenset(element for each in found.played for element in each.path)
    return Marks(done=entered, notes=dict.fromkeys(found.uncovered, missed))


def _read_page(definition: WorkflowDefinition, *, may_save: bool) -> dict[str, Any]:
    revision = get_revision(definition.pk, definition.newest)
    if not revision.is_executable:
        return {"may_save": may_save, "revision": revision}
    found = _rehearse(revision, definition)
    is_decision = definition.kind == WorkflowDefinition.Kind.DMN
    total = len(list_coverable(get_compiled(definition.pk, revision.number)))
    return {
        "may_save": may_save,
        "revision": revision,
        "rehearsal": found,
        "played": [(each.name, [say_failure(failure) for failure in each.failures]) for each in found.played],
        "covered": total - len(found.uncovered),
        "total": total,
        "drawings": [_draw(revision, found)] if found.played and not is_decision else [],
        "is_decision": is_decision,
    }


def _draw(revision: WorkflowRevision, found: Rehearsal) -> Drawing:
    """Return the drawing with what has been found: the address of its picture would have all scenarios played anew."""
    drawing = draw_revision(revision, query={"coverage": "1"})
    answer = respond_with_diagram(revision, _mark(found)) if drawing.address else None
    if answer is None:
        return drawing
    return replace(drawing, picture=f"data:image/svg+xml;base64,{b64encode(answer.content).decode()}")


def _rehearse(revision: WorkflowRevision, definition: WorkflowDefinition) -> Rehearsal:
    return rehearse(get_compiled(revision.definition_id, revision.number), definition.enterprise_id)
