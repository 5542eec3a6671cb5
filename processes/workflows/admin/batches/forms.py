"""What an operation over many instances needs to know: variables, or a revision and where to continue in it."""

from typing import Any

from django import forms
from django.db.models import QuerySet
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from processes.workflows.admin.migration import RevisionForm
from processes.workflows.admin.values import VariablesField
from processes.workflows.engine.migration import Unmapped, list_missing
from processes.workflows.errors import NotPossible
from processes.workflows.filters import at_element
from processes.workflows.models import WorkflowInstance
from processes.workflows.services.definitions.library import get_compiled

MOST_REVISIONS = 50
"""At which the chosen instances are."""
MOST_ASKED = 50
"""Elements; the dry run names the others."""


class SetVariablesForm(forms.Form):
    variables = VariablesField(
        label=_("Variables"), help_text=_("As JSON. Other variables stay as they are."), required=True
    )

    def __init__(self, chosen: QuerySet[WorkflowInstance], *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)

    def read_parameters(self) -> dict[str, Any]:
        return {"variables": self.cleaned_data["variables"]}


class MoveForm(RevisionForm):
    """Ask once where instances continue that stand at an element which the other revision does not have.

    Whoever leaves one open has those instances refused: the dry run says so.
    """

    asked = forms.IntegerField(required=False, widget=forms.HiddenInput)
    """The revision for which it has been asked."""

    def __init__(self, chosen: QuerySet[WorkflowInstance], *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._chosen = chosen.order_by()
        found = self._chosen.values_list("definition_id", "revision__number").distinct()[:MOST_REVISIONS]
        revisions = sorted(found)
        keys = {key for key, _ in revisions}
        if not keys:
            raise NotPossible(reason="No instance was chosen.")
        if len(keys) > 1:
            raise NotPossible(reason="Choose instances of one definition: each has revisions of its own.")
        self._present = [number for _, number in revisions]
        if not self.offer_revisions(keys.pop(), self._present):
            raise NotPossible(reason="The definition has no other revision.")

    def clean(self) -> None:
        super().clean()
        revision = self.cleaned_data.get("revision")
        if revision is None or self.cleaned_data.get("asked") == revision:
            return
        if missing := self._find_missing(revision):
            self.ask_for(missing, revision, required=False)
            self.data = {**{name: self.data[name] for name in self.data}, "asked": str(revision)}
            self.add_error(
                None,
                gettext(
                    "Choose where these elements continue in the other revision. Instances at an element that you "
                    "leave open will be refused."
                ),
            )

    def read_parameters(self) -> dict[str, Any]:
        elements = self.read_elements()
        return {"revision": self.cleaned_data["revision"], **({"elements": elements} if elements else {})}

    def _find_missing(self, revision: int) -> list[Unmapped]:
        """Return the elements at which one of the instances stands and could not go on."""
        target = get_compiled(self.key, revision)
        found: dict[str, Unmapped] = {}
        for number in self._present:
            for each in list_missing(get_compiled(self.key, number), target):
                found.setdefault(each.element, each)
        asked = list(found.values())[:MOST_ASKED]
        return [each for each in asked if at_element(self._chosen, each.element).exists()]
