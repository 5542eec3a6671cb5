"""The page of missing files: messages given up because their files were missing, and their restore."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.utils.safestring import SafeString
from django.utils.translation import gettext, ngettext

from config.access.scopes import Scope, permission
from config.admin_base.pages import actor_of, explain
from config.admin_base.theme import ModelAdmin
from config.common.errors import ApplicationError, VolumeAway
from messaging.admin.presentation import route_html, status_badge
from messaging.admin.reason_form import ReasonForm
from messaging.files.placement import FileForeign, find_files
from messaging.models import Message
from messaging.services.requeue import restore_message, was_given_up

MOST = 500
CHOSEN = "message"


@dataclass(frozen=True)
class Missing:
    message: Message
    route: SafeString
    badge: SafeString
    lies_in: str
    """The folder that the file is in again; empty where it is still missing."""
    is_offered: bool
    """Whether it is offered again, or only its file is brought back."""


def missing_files_view(model_admin: ModelAdmin[Message], request: HttpRequest) -> HttpResponse:
    """Show the messages that were given up; on POST restore the chosen ones, with one reason for all."""
    if not model_admin.has_view_permission(request):
        raise PermissionDenied
    may_restore = request.user.has_perm(f"records.{permission(Scope.OPERATIONS)}")
    form = ReasonForm(request.POST or None)
    if request.method == "POST":
        if not may_restore:
            raise PermissionDenied
        if form.is_valid():
            _restore(request, request.POST.getlist(CHOSEN), reason=form.cleaned_data["reason"])
            return HttpResponseRedirect(request.path)
    given_up = Message.objects.filter(file_missing_at__isnull=False).select_related("device", "database")
    found = list(given_up.order_by("-id")[: MOST + 1])
    away, rows = _find_files(found[:MOST])
    context = {
        **model_admin.admin_site.each_context(request),
        "title": gettext("Missing files"),
        "away": away,
        "returned": [row for row in rows if row.lies_in],
        "missing": [row for row in rows if not row.lies_in],
        "is_more": len(found) > MOST,
        "may_restore": may_restore,
        "form": form,
    }
    return TemplateResponse(request, "admin/messaging/message/missing_files.html", context)


def _find_files(found: Sequence[Message]) -> tuple[str, list[Missing]]:
    """Look for the files; without the volume return the reason instead, as nothing is known of them."""
    try:
        return "", [
            Missing(message, route_html(message), status_badge(message), _folder_of(message), was_given_up(message))
            for message in found
        ]
    except VolumeAway as away:
        return away.words, []


def _folder_of(message: Message) -> str:
    try:
        found = find_files(message)
    except FileForeign:
        return ""  # something that is no file has its name
    return str(Message.Folder(found[0].parent.name).label) if found else ""


def _restore(request: HttpRequest, chosen: Sequence[str], *, reason: str) -> None:
    done, refused = 0, ""
    for pk in sorted(int(key) for key in chosen[:MOST] if key.isdecimal()):
        try:
            restore_message(message_id=pk, reason=reason, actor=actor_of(request))
        except ApplicationError as error:
            refused = explain(error)
        else:
            done += 1
    text = ngettext("%(count)d message restored.", "%(count)d messages restored.", done)
    messages.success(request, text % {"count": done})
    if refused:
        text = gettext("%(count)d skipped; the last one because: %(reason)s")
        messages.warning(request, text % {"count": len(chosen) - done, "reason": refused})
