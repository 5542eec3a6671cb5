"""What a person does with a task on its page: claim it, give it back, hand it on, set when it is due."""

from collections.abc import Callable
from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from unfold.widgets import (
    UnfoldAdminIntegerFieldWidget,
    UnfoldAdminSelectWidget,
    UnfoldAdminSplitDateTimeWidget,
    UnfoldBooleanSwitchWidget,
)

from config.admin_base.pages import Question, actor_of
from config.common.errors import ApplicationError, NotPermitted
from config.records.models import UserSettings
from processes.workflows.admin.access import WorkflowAdmin
from processes.workflows.admin.dialog import Dialog, Outcome, run_dialog
from processes.workflows.admin.presentation import explain_refusal
from processes.workflows.engine.execution.people import HIGHEST_PRIORITY, LOWEST_PRIORITY
from processes.workflows.models import WorkItem
from processes.workflows.services.task_assignment import (
    Schedule,
    assign_task,
    claim_task,
    release_task,
    schedule_task,
)
from processes.workflows.task_rights import TaskRights, assignable_people, person_of, rights_over

Admin = WorkflowAdmin[WorkItem]
MOST_PEOPLE = 500
"""Accounts that are offered to hand a task to."""


class AssignForm(forms.Form):
    assignee = forms.ChoiceField(label=_("To"), widget=UnfoldAdminSelectWidget)

    def __init__(self, data: Any = None, *, initial: dict[str, Any] | None = None, without: str = "") -> None:
        super().__init__(data, initial=initial)
        people = assignable_people().exclude(username=without).values_list("username", "first_name", "last_name")
        offered = [
            (name, " · ".join(filter(None, (name, f"{first} {last}".strip()))))
            for name, first, last in people[:MOST_PEOPLE]
        ]
        self.fields["assignee"].choices = offered  # type: ignore[attr-defined]


class ScheduleForm(forms.Form):
    due_at = forms.SplitDateTimeField(label=_("Due"), required=False, widget=UnfoldAdminSplitDateTimeWidget)
    follow_up_at = forms.SplitDateTimeField(
        label=_("Follow up"),
        required=False,
        widget=UnfoldAdminSplitDateTimeWidget,
        help_text=_("When somebody should look at it again."),
    )
    priority = forms.IntegerField(
        label=_("Priority"),
        min_value=LOWEST_PRIORITY,
        max_value=HIGHEST_PRIORITY,
        help_text=_("50 is usual; the higher one comes first among tasks that are due at the same time."),
        widget=UnfoldAdminIntegerFieldWidget,
    )


def claim_view(model_admin: Admin, request: HttpRequest, pk: int) -> HttpResponse:
    def act() -> str:
        claim_task(pk, person_of(request.user), actor=actor_of(request))
        return gettext("The task is yours.")

    return _act(model_admin, request, pk, act)


def release_view(model_admin: Admin, request: HttpRequest, pk: int) -> HttpResponse:
    def act() -> str:
        item = release_task(pk, person_of(request.user), actor=actor_of(request))
        if item.assignee:
            return gettext("The task is back with %(owner)s.") % {"owner": item.assignee}
        return gettext("You have given the task back.")

    return _act(model_admin, request, pk, act)


def assign_view(model_admin: Admin, request: HttpRequest, pk: int) -> HttpResponse:
    item = _get(model_admin, request, pk, lambda rights: rights.assign)
    if isinstance(item, HttpResponse):
        return item
    is_mine = item.assignee == request.user.get_username()
    question = Question(
        title=gettext("Delegate the task") if is_mine else gettext("Assign the task"),
        text=gettext("It is theirs from now on. If they give it back, it is yours again.")
        if is_mine
        else gettext("Whoever you choose gets the task, and a mail if they want one."),
        button=gettext("Delegate") if is_mine else gettext("Assign"),
    )

    def act(answers: dict[str, Any]) -> Outcome:
        assign_task(pk, person_of(request.user), answers["assignee"], actor=actor_of(request))
        return Outcome(gettext("The task is with %(name)s now.") % {"name": answers["assignee"]}, _page(pk))

    form = AssignForm(request.POST if request.method == "POST" else None, without=item.assignee)
    return run_dialog(model_admin, request, Dialog(question, form, act, _page(pk), subject=item))


def schedule_view(model_admin: Admin, request: HttpRequest, pk: int) -> HttpResponse:
    item = _get(model_admin, request, pk, lambda rights: rights.schedule)
    if isinstance(item, HttpResponse):
        return item
    question = Question(
        title=gettext("When is it due?"),
        text=gettext("The list of tasks is sorted by this. The workflow itself does not change."),
        button=gettext("Save"),
    )

    def act(answers: dict[str, Any]) -> Outcome:
        schedule_task(pk, person_of(request.user), Schedule(**answers), actor=actor_of(request))
        return Outcome(gettext("Saved."), _page(pk))

    initial = {"due_at": item.deadline, "follow_up_at": item.follow_up_at, "priority": item.priority}
    form = ScheduleForm(request.POST) if request.method == "POST" else ScheduleForm(initial=initial)
    return run_dialog(model_admin, request, Dialog(question, form, act, _page(pk), subject=item))


class MailsForm(forms.Form):
    mails_assigned = forms.BooleanField(
        label=_("E-mail me when a task is assigned to me"), required=False, widget=UnfoldBooleanSwitchWidget
    )
    mails_overdue = forms.BooleanField(
        label=_("E-mail me when a task of mine is overdue"), required=False, widget=UnfoldBooleanSwitchWidget
    )


def mails_view(model_admin: Admin, request: HttpRequest) -> HttpResponse:
    """Let a person choose which mails about tasks they get."""
    model_admin.check_view(request)
    names, back = tuple(MailsForm.base_fields), reverse("admin:workflows_workitem_changelist")
    kept = UserSettings.objects.filter(user=request.user.pk).values(*names).first()
    address = getattr(request.user, "email", "")
    question = Question(
        title=gettext("Task e-mails"),
        text=gettext("They go to %(address)s.") % {"address": address}
        if address
        else gettext("Your account has no e-mail address: no e-mails are sent until it has one."),
        button=gettext("Save"),
    )

    def act(answers: dict[str, Any]) -> Outcome:
        assert request.user.pk is not None, "nobody else sees this page"
        zone = {"time_zone": timezone.get_current_timezone_name()}
        UserSettings.objects.update_or_create(
            user_id=request.user.pk, defaults=answers, create_defaults={**answers, **zone}
        )
        return Outcome(gettext("Saved."), back)

    initial = kept or dict.fromkeys(names, True)
    form = MailsForm(request.POST) if request.method == "POST" else MailsForm(initial=initial)
    return run_dialog(model_admin, request, Dialog(question, form, act, back))


ACTIONS: dict[str, Callable[[Admin, HttpRequest, int], HttpResponse]] = {
    "claim": claim_view,
    "release": release_view,
    "assign": assign_view,
    "schedule": schedule_view,
}


def _act(model_admin: Admin, request: HttpRequest, pk: int, act: Callable[[], str]) -> HttpResponse:
    model_admin.check_view(request)
    if request.method != "POST":
        return HttpResponseNotAllowed(["POST"])
    try:
        messages.success(request, act())
    except NotPermitted as error:
        raise PermissionDenied from error
    except ApplicationError as error:
        messages.warning(request, explain_refusal(error))
    return HttpResponseRedirect(_page(pk))


def _get(
    model_admin: Admin, request: HttpRequest, pk: int, may: Callable[[TaskRights], bool]
) -> WorkItem | HttpResponse:
    """Return a task if the person may do that with it; of one that is closed, the way to its page, which says why."""
    model_admin.check_view(request)
    item = model_admin.get_object(request, str(pk))
    if item is None:
        raise Http404
    if item.status != WorkItem.Status.OPEN:
        return HttpResponseRedirect(_page(pk))
    if not may(rights_over(item, person_of(request.user), list(item.candidates.all()))):
        raise PermissionDenied
    return item


def _page(pk: int) -> str:
    return reverse("admin:workflows_workitem_change", args=[pk])
