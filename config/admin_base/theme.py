"""The theme's classes under Django's types: the theme itself carries none."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from unfold import decorators
from unfold.enums import ActionVariant

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


def action(
    *,
    description: Any,
    permissions: Sequence[str],
    url_path: str,
    icon: str,
    dangerous: bool = False,
) -> Callable[[F], F]:
    """Make a method of an admin class a button: a permission `x` is asked of its method `has_x_permission`."""
    variant = ActionVariant.DANGER if dangerous else ActionVariant.DEFAULT
    decorated: Callable[[F], F] = decorators.action(
        description=description, permissions=permissions, url_path=url_path, icon=icon, variant=variant
    )
    return decorated


def display(*, description: Any) -> Callable[[F], F]:
    """Make a method of an admin class a column or a field."""
    decorated: Callable[[F], F] = decorators.display(description=description)
    return decorated
