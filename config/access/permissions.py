"""Who may call what: each view says it, method by method, and a view that says nothing is closed."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from config.access.authentication import Principal
from config.access.scopes import permission
from config.common.errors import ScopeMissing, WrongKind
from config.records.models import AccessKey

if TYPE_CHECKING:  # the framework loads this module while it loads its views
    from rest_framework.views import APIView


class ScopePermission(BasePermission):
    """Allow service keys with the scope of the method, staff with its permission, and the kinds of key a view lists.

    A view declares `scopes = {"GET": Scope.REGISTRY_READ, …}` and, for keys of clients, devices or databases,
    `key_kinds = {"GET": {AccessKey.Kind.DEVICE}, …}`. What belongs to whom is for the view's service to decide.
    """

    def has_permission(self, request: Request, view: "APIView") -> bool:
        caller: Any = request.user
        if caller is None:
            return False
        if request.method not in view.allowed_methods:
            return True  # the answer is 405
        method = "GET" if request.method == "HEAD" else request.method
        scope = getattr(view, "scopes", {}).get(method)
        kinds = sorted(getattr(view, "key_kinds", {}).get(method, ()))
        if isinstance(caller, Principal) and caller.kind != AccessKey.Kind.SERVICE:
            if caller.kind not in kinds:
                raise WrongKind(**_allowed_callers(scope, kinds))
        elif scope is None:
            raise WrongKind(**_allowed_callers(scope, kinds))
        else:
            require_scope(caller, scope)
        return True


def require_scope(caller: Any, scope: str) -> None:
    """Raise `ScopeMissing` unless the caller has the scope."""
    if not has_scope(caller, scope):
        raise ScopeMissing(scope)


def _allowed_callers(scope: str | None, kinds: Sequence[str]) -> dict[str, Any]:
    """Return who may call instead, for the data of the error: keys of these kinds, or a service key with this scope."""
    return ({"scope": str(scope)} if scope else {}) | ({"kinds": list(kinds)} if kinds else {})


def has_scope(caller: Any, scope: str) -> bool:
    """Return whether a service key has the scope, or a member of staff the equal permission."""
    if isinstance(caller, Principal):
        return scope in caller.scopes
    return bool(caller.has_perm(f"records.{permission(scope)}"))
