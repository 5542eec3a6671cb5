"""The page of what is in doubt: each process with what went to the ERP and what came back, and the two answers."""

from dataclasses import dataclass

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.translation import gettext

from config.access.scopes import Scope, permission
from config.admin_base.theme import ModelAdmin
from config.records.models import LogEntry
from processes.exchange.admin.process_page import Cargo, collect_cargo, collect_logs
from processes.exchange.models import ExchangeProcess
from processes.exchange.selectors import in_doubt

SHOWN = 20


@dataclass(frozen=True)
class Doubt:
    process: ExchangeProcess
    cargo: Cargo
    log: list[LogEntry]


def doubt_view(model_admin: ModelAdmin[ExchangeProcess], request: HttpRequest) -> HttpResponse:
    if not model_admin.has_view_permission(request):
        raise PermissionDenied
    found = list(in_doubt().select_related("database").order_by("started_at", "id")[: SHOWN + 1])
    shown = found[:SHOWN]
    cargo = collect_cargo(shown)
    logs = collect_logs(shown) if request.user.has_perm("records.view_logentry") else {}
    context = {
        **model_admin.admin_site.each_context(request),
        "title": gettext("In doubt"),
        "doubts": [Doubt(each, cargo[each.pk], logs.get(each.pk, [])) for each in shown],
        "is_more": len(found) > SHOWN,
        "may_resolve": request.user.has_perm(f"records.{permission(Scope.OPERATIONS)}"),
    }
    return TemplateResponse(request, "admin/exchange/doubt.html", context)
