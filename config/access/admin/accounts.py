"""Users and groups. Rights come with groups; the product's own groups are kept by the product (`groups.py`)."""

from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.auth.admin import GroupAdmin as PlainGroupAdmin
from django.contrib.auth.admin import UserAdmin as PlainUserAdmin
from django.contrib.auth.models import Group, Permission, User
from django.contrib.contenttypes.models import ContentType
from django.db.models import ManyToManyField, QuerySet, Value
from django.db.models.functions import Concat
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.text import capfirst
from django.utils.translation import gettext, pgettext, pgettext_lazy
from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldAdminCheckboxSelectMultipleWidget

from config.access.accounts import find_values, record_account_change, values_of
from config.access.groups import GROUPS, group_title
from config.access.scopes import Scope, permission
from config.admin_base.lists import ListAdmin
from config.admin_base.pages import actor_of
from config.admin_base.theme import (
    AdminPasswordChangeForm,
    UserChangeForm,
    UserCreationForm,
    display,
)

admin.site.unregister(User)
admin.site.unregister(Group)

VERBS = {"view": pgettext_lazy("permission", "view"), "add": _("add"), "change": _("change"), "delete": _("delete")}


class RecordedAdmin(ListAdmin[Any]):
    """Writes each change of an account or a group to the change log, in the transaction of the form."""

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        request._values_before = find_values(obj) if change else None  # type: ignore[attr-defined]
        super().save_model(request, obj, form, change)

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        super().save_related(request, form, formsets, change)
        subject, before = form.instance, request._values_before  # type: ignore[attr-defined]
        self._record(request, subject, str(subject.pk), before, values_of(subject))

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        object_id, before = str(obj.pk), find_values(obj)
        super().delete_model(request, obj)
        self._record(request, obj, object_id, before, None)

    def _record(self, request: HttpRequest, subject: Any, object_id: str, before: Any, after: Any) -> None:
        record_account_change(subject=subject, object_id=object_id, before=before, after=after, actor=actor_of(request))


class GroupsField(forms.ModelMultipleChoiceField):  # type: ignore[type-arg]
    def label_from_instance(self, group: Any) -> str:
        return group_title(group.name)


@admin.register(User)
class UserAdmin(PlainUserAdmin, RecordedAdmin):  # type: ignore[type-arg]
    form = UserChangeForm
    add_form = UserCreationForm
    change_password_form = AdminPasswordChangeForm
    list_display = ("username", "full_name", "group_names", "is_active", "last_login")
    list_filter = ("is_active", "groups")
    list_filter_submit = True
    fieldsets = (
        (None, {"fields": ("username", "password_state")}),
        (_("Person"), {"fields": ("first_name", "last_name", "email")}),
        (_("Access"), {"fields": ("is_active", "is_staff", "is_superuser", "groups")}),
        (_("Dates"), {"fields": ("last_login", "date_joined")}),
    )
    add_fieldsets = (
        (None, {"classes": ("wide",), "fields": ("username", "password1", "password2", "is_staff", "groups")}),
    )
    readonly_fields = ("password_state", "last_login", "date_joined")
    filter_horizontal = ()

    @display(description=_("full name"), ordering=Concat("first_name", Value(" "), "last_name"))
    def full_name(self, user: User) -> str:
        return user.get_full_name() or "–"

    @display(description=_("password"))
    def password_state(self, user: User) -> SafeString:
        """Lead to the form that sets a password; how one is stored helps nobody."""
        words = (
            pgettext("password", "set") if user.has_usable_password() else gettext("none: this account cannot sign in")
        )
        page = reverse("admin:auth_user_password_change", args=[user.pk])
        return format_html('{} · <a class="pst-link" href="{}">{}</a>', words, page, gettext("Set a new password"))

    @display(description=_("groups"))
    def group_names(self, user: User) -> str:
        names = [group_title(group.name) for group in user.groups.all()]
        return ", ".join([gettext("superuser"), *names] if user.is_superuser else names) or "–"

    def get_queryset(self, request: HttpRequest) -> QuerySet[User]:
        return super().get_queryset(request).prefetch_related("groups")

    def has_delete_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        # An account is made inactive instead: what it did stays under its name.
        return False

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        return {"is_staff": True}

    def formfield_for_manytomany(
        self, db_field: "ManyToManyField[Any, Any]", request: HttpRequest, **kwargs: Any
    ) -> Any:
        if db_field.name == "groups":
            kwargs |= {"form_class": GroupsField, "widget": UnfoldAdminCheckboxSelectMultipleWidget, "help_text": ""}
        return super().formfield_for_manytomany(db_field, request, **kwargs)


class PermissionsField(forms.ModelMultipleChoiceField):  # type: ignore[type-arg]
    """Permissions in the words of the reader: Django keeps their English names in the table."""

    def label_from_instance(self, held: Any) -> str:
        scopes = {permission(scope.value): scope.label for scope in Scope}
        if held.codename in scopes:
            return f"REST: {scopes[held.codename]}"
        verb = VERBS.get(held.codename.partition("_")[0], held.name)
        return f"{held.content_type.app_labeled_name.replace(' | ', ' · ')}: {verb}"


@admin.register(Group)
class GroupAdmin(PlainGroupAdmin, RecordedAdmin):
    list_display = ("title", "purpose")
    actions = None
    filter_horizontal = ()

    @display(description=_("name"), ordering="name")
    def title(self, group: Group) -> SafeString:
        return format_html('<span title="{}">{}</span>', group.name, group_title(group.name))

    @display(description=_("permissions"))
    def purpose(self, group: Group) -> str:
        return capfirst(str(GROUPS[group.name].purpose if group.name in GROUPS else _("a group of your own")))

    def get_fields(self, request: HttpRequest, obj: Group | None = None) -> tuple[str, ...]:
        return ("name", "permissions") if _is_own(obj) else ("title", "purpose")

    def get_readonly_fields(self, request: HttpRequest, obj: Group | None = None) -> tuple[str, ...]:
        return () if _is_own(obj) else ("title", "purpose")

    def has_change_permission(self, request: HttpRequest, obj: Group | None = None) -> bool:
        return _is_own(obj) and super().has_change_permission(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Group | None = None) -> bool:
        return _is_own(obj) and super().has_delete_permission(request, obj)

    def formfield_for_manytomany(
        self, db_field: "ManyToManyField[Any, Any]", request: HttpRequest | None = None, **kwargs: Any
    ) -> Any:
        # Permissions over tables without pages mean nothing to staff.
        with_pages = ContentType.objects.get_for_models(*admin.site._registry).values()
        kwargs |= {
            "queryset": Permission.objects.filter(content_type__in=list(with_pages)),
            "form_class": PermissionsField,
            "widget": UnfoldAdminCheckboxSelectMultipleWidget,
            "help_text": "",
        }
        return super().formfield_for_manytomany(db_field, request, **kwargs)


def _is_own(group: Group | None) -> bool:
    return group is None or group.name not in GROUPS
