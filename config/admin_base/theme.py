"""The theme's classes under Django's types: the theme itself carries none."""

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

from django.contrib import messages
from django.db.models.expressions import Combinable
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.translation import gettext
from unfold import decorators, fields, utils
from unfold.enums import ActionVariant
from unfold.templatetags import unfold_list

from config.admin_base.times import time_element

F = TypeVar("F", bound=Callable[..., Any])

if TYPE_CHECKING:
    from django.contrib.admin import ModelAdmin as ModelAdmin
    from django.contrib.admin import SimpleListFilter as DropdownFilter
    from django.contrib.admin import SimpleListFilter as TextFilter
    from django.contrib.auth.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm
else:
    from django.contrib.admin import ShowFacets
    from unfold.admin import ModelAdmin as ThemedModelAdmin
    from unfold.contrib.filters.admin import DropdownFilter, TextFilter
    from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm

    class ModelAdmin(ThemedModelAdmin):
        # Counting the rows behind each choice of a filter would read whole tables.
        show_facets = ShowFacets.NEVER

        def __class_getitem__(cls, model):
            return cls


__all__ = [
    "AdminPasswordChangeForm",
    "DropdownFilter",
    "ModelAdmin",
    "TextFilter",
    "UserChangeForm",
    "UserCreationForm",
    "action",
    "display",
]


def _show_field(value: Any, field: Any, empty: str) -> Any:
    return time_element(value) if isinstance(value, datetime) else utils.display_for_field(value, field, empty)


def _show_value(value: Any, empty: str, boolean: bool = False) -> Any:
    return time_element(value) if isinstance(value, datetime) else utils.display_for_value(value, empty, boolean)


# The theme has no hook for how a value is shown in a list or a read-only field: times get the one element there too.
unfold_list.display_for_field = fields.display_for_field = _show_field
unfold_list.display_for_value = _show_value


def action(
    *,
    description: Any,
    permissions: Sequence[str],
    url_path: str,
    icon: str,
    dangerous: bool = False,
) -> Callable[[F], F]:
    """Make a method of an admin class a button: a permission `x` is asked of its method `has_x_permission`.

    Whoever may act, but not on this row as it is now, comes to the page of the row: somebody else was faster, or the
    address is an old one. The theme would say that the account is not allowed to.
    """
    variant = ActionVariant.DANGER if dangerous else ActionVariant.DEFAULT
    decorate: Callable[[F], F] = decorators.action(
        description=description, permissions=permissions, url_path=url_path, icon=icon, variant=variant
    )

    def make_button(method: F) -> F:
        checked = decorate(method)

        @wraps(checked)
        def answer(model_admin: ModelAdmin[Any], request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
            rules = [getattr(model_admin, f"has_{name}_permission") for name in permissions]
            object_id = kwargs.get("object_id")
            is_over = object_id is not None and not all(rule(request, object_id) for rule in rules)
            if is_over and all(rule(request) for rule in rules):
                return _lead_to_row(model_admin, request, object_id, description)
            return checked(model_admin, request, *args, **kwargs)  # type: ignore[no-any-return]

        return answer  # type: ignore[return-value]

    return make_button


def _lead_to_row(
    model_admin: "ModelAdmin[Any]", request: HttpRequest, object_id: Any, description: Any
) -> HttpResponse:
    words = gettext("“%(action)s” is not possible in the current state.")
    messages.warning(request, words % {"action": description})
    opts = model_admin.opts
    return HttpResponseRedirect(reverse(f"admin:{opts.app_label}_{opts.model_name}_change", args=[object_id]))


def display(*, description: Any, ordering: str | Combinable | None = None) -> Callable[[F], F]:
    """Make a method of an admin class a column or a field; with `ordering` a list is sorted by it."""
    decorated: Callable[[F], F] = decorators.display(description=description, ordering=ordering)
    return decorated
