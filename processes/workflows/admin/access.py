"""The base of the workflow admins: whoever may read or write by REST may see or use the pages."""

from collections.abc import Sequence
from typing import TypeVar

from django.core.exceptions import PermissionDenied
from django.db.models import Model
from django.http import HttpRequest

from config.access.permissions import has_scope
from config.access.scopes import Scope
from config.admin_base.pages import BigTableAdmin

M = TypeVar("M", bound=Model)


class WorkflowAdmin(BigTableAdmin[M]):
    actions: Sequence[str] | None = None

    class Media:
        css = {"all": ["postern/sensors.css", "postern/messaging.css", "postern/workflows.css"]}

    def has_module_permission(self, request: HttpRequest) -> bool:
        return has_scope(request.user, Scope.WORKFLOWS_READ)

    def has_view_permission(self, request: HttpRequest, obj: M | None = None) -> bool:
        return has_scope(request.user, Scope.WORKFLOWS_READ)

    def has_operate_permission(self, request: HttpRequest, object_id: str | None = None) -> bool:
        return has_scope(request.user, Scope.WORKFLOWS_WRITE) and self.has_view_permission(request)

    def check_view(self, request: HttpRequest) -> None:
        # Django checks the permissions of its own views alone.
        if not self.has_view_permission(request):
            raise PermissionDenied

    def check_operate(self, request: HttpRequest) -> None:
        if not self.has_operate_permission(request):
            raise PermissionDenied
