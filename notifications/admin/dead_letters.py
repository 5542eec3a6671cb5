"""The page of dead letters: how many each endpoint has, and a button that resends them batch by batch with a bar.

Each batch is a call of its own and committed at its end: nothing is lost if the page is closed or loaded anew.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest, HttpResponseRedirect, JsonResponse
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext, ngettext

from config.access.scopes import Scope, permission
from config.admin_base.pages import actor_of
from config.admin_base.theme import ModelAdmin
from notifications.models import Delivery, Endpoint
from notifications.names import Named, name_endpoints
from notifications.services.resend import (
    MOST_COUNTED,
    DeadLetters,
    count_dead_letters,
    resend_dead_letters,
)

ENDPOINTS_SHOWN = 100


@dataclass(frozen=True)
class Pile:
    """The dead letters of one endpoint."""

    endpoint: Endpoint
    owner: Named | None
    count: int
    oldest: datetime


class BatchForm(forms.Form):
    endpoint = forms.IntegerField(required=False, min_value=1, max_value=2**63 - 1)
    after = forms.IntegerField(required=False, min_value=0, max_value=2**63 - 1)


def dead_letters_view(model_admin: ModelAdmin[Delivery], request: HttpRequest) -> HttpResponse:
    """Show the dead letters; on POST resend one batch, and answer JSON to the script or a redirect to a form."""
    if not model_admin.has_view_permission(request):
        raise PermissionDenied
    may_resend = request.user.has_perm(f"records.{permission(Scope.OPERATIONS)}")
    if request.method == "POST":
        if not may_resend:
            raise PermissionDenied
        return _resend_batch(request)
    found = count_dead_letters()
    total = sum(letters.count for letters in found)
    context = {
        **model_admin.admin_site.each_context(request),
        "title": gettext("Undelivered messages"),
        "total": total,
        "is_more": total >= MOST_COUNTED,
        "piles": _make_piles(found[:ENDPOINTS_SHOWN]),
        "may_resend": may_resend,
    }
    return TemplateResponse(request, "admin/notifications/delivery/dead.html", context)


def _resend_batch(request: HttpRequest) -> HttpResponse:
    form = BatchForm(request.POST)
    if not form.is_valid():
        return HttpResponseBadRequest()
    asked: dict[str, Any] = form.cleaned_data
    batch = resend_dead_letters(actor=actor_of(request), endpoint_id=asked["endpoint"], after=asked["after"] or 0)
    if "application/json" in request.headers.get("Accept", ""):
        return JsonResponse(asdict(batch))
    said = ngettext("%(count)d message is being resent.", "%(count)d messages are being resent.", batch.resent)
    messages.success(request, said % {"count": batch.resent})
    return HttpResponseRedirect(reverse("admin:notifications_delivery_dead"))


def _make_piles(found: Sequence[DeadLetters]) -> list[Pile]:
    oldest = Delivery.objects.select_related("endpoint").defer("body").in_bulk([each.oldest_id for each in found])
    owners = name_endpoints([each.endpoint_id for each in found])
    return [
        Pile(letter.endpoint, owners.get(each.endpoint_id), each.count, letter.created_at)
        for each in found
        if (letter := oldest.get(each.oldest_id)) is not None  # it may have expired meanwhile
    ]
