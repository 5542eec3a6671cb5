"""The page that moves an instance to another revision: it asks for a counterpart of whatever has none."""

from collections.abc import Collection, Iterable
from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldAdminSelectWidget

from config.admin_base.pages import Question, actor_of
from config.admin_base.theme import ModelAdmin
from processes.workflows.admin.dialog import Dialog, Outcome, run_dialog
from processes.workflows.admin.forms import SeenForm
from processes.workflows.engine.migration import Unmapped
from processes.workflows.errors import NotPossible
from processes.workflows.models import WorkflowInstance
from processes.workflows.selectors import list_revisions
from processes.workflows.services.commands import command_instance
from processes.workflows.services.definitions.library import get_compiled
from processes.workflows.services.migration import preview_migration

REVISIONS_OFFERED = 50
PREFIX = "to:"


REASONS = {
    "there is no such element.": _("The revision has no such element."),
    "the element is of another kind.": _("The element is of another kind."),
    "only one of the two is repeated.": _("Only one of the two is repeated."),
    "the element lies elsewhere.": _("The element lies in another sub-process."),
    "the element waits for something else.": _("The element waits for something else."),
    "the way by which it came does not lead there.": _("The flow by which it came does not lead there."),
    "it could not be compensated any more.": _("It could not be compensated any more."),
}


class RevisionForm(forms.Form):
    """The revision, and a counterpart for each element that needs one."""

    key: str
    """Of the definition."""
    revision = forms.TypedChoiceField(label=_("Revision"), coerce=int, widget=UnfoldAdminSelectWidget)

    def offer_revisions(self, key: str, present: Collection[int]) -> bool:
        """Let the latest revisions be chosen, except the one that all are at; return whether there are any."""
        self.key = key
        numbers = list_revisions(key).filter(is_executable=True).values_list("number", flat=True)
        found = [each for each in numbers[: REVISIONS_OFFERED + 1] if len(present) > 1 or each not in present]
        self.fields["revision"].choices = [(number, str(number)) for number in found]  # type: ignore[attr-defined]
        return bool(found)

    def ask_for(self, unmapped: Iterable[Unmapped], revision: int, *, required: bool = True) -> None:
        """Add a choice for each element: the elements of its kind in the other revision."""
        nodes = get_compiled(self.key, revision).nodes.values()
        for each in unmapped:
            fitting = [(node.id, node.name or node.id) for node in nodes if node.kind.value == each.kind]
            self.fields[f"{PREFIX}{each.element}"] = forms.ChoiceField(
                label=gettext("“%(name)s” continues at") % {"name": each.name or each.element},
                choices=[("", "–"), *fitting],
                required=required,
                help_text=REASONS.get(each.reason, each.reason),
                widget=UnfoldAdminSelectWidget,
            )

    def read_elements(self) -> dict[str, str]:
        """Return the counterparts that the person has chosen so far."""
        chosen = {name.removeprefix(PREFIX): self.data[name] for name in self.data if name.startswith(PREFIX)}
        return {element: target for element, target in chosen.items() if target}


class MigrationForm(RevisionForm, SeenForm):
    def __init__(self, instance: WorkflowInstance, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.offer_revisions(instance.definition_id, [instance.revision.number])


def migrate_view(
    model_admin: ModelAdmin[WorkflowInstance], request: HttpRequest, instance: WorkflowInstance
) -> HttpResponse:
    question = Question(
        title=gettext("Move to another revision"),
        text=gettext(
            "Everything that is open stays open and continues in the other revision; timers keep their time. This "
            "creates a new version, from which you can return."
        ),
        button=gettext("Move"),
    )
    page = reverse("admin:workflows_workflowinstance_change", args=[instance.pk])
    sent = request.POST if request.method == "POST" else None
    form = MigrationForm(instance, sent, initial={"version": instance.head})

    def act(answers: dict[str, Any]) -> Outcome:
        body = {"command": "migrate", "revision": answers["revision"], "elements": form.read_elements()}
        command_instance(
            instance.pk, body, actor=actor_of(request), at=timezone.now(), expected_version=answers["version"]
        )
        moved = gettext("The instance has been moved to revision %(number)s.") % {"number": answers["revision"]}
        return Outcome(moved, page)

    if sent is not None and form.is_valid():
        _ask_for_what_is_missing(form, instance)
    return run_dialog(model_admin, request, Dialog(question, form, act, page, subject=instance))


def _ask_for_what_is_missing(form: MigrationForm, instance: WorkflowInstance) -> None:
    """Show the form again with a choice for each element that has no counterpart yet."""
    revision = form.cleaned_data["revision"]
    try:
        unmapped = preview_migration(instance.pk, revision=revision, elements=form.read_elements(), at=timezone.now())
    except NotPossible:
        return  # said by the command itself
    if unmapped:
        form.ask_for(unmapped, revision)
        form.add_error(None, gettext("Choose where these elements continue in the other revision."))
