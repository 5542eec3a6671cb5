import uuid
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.text import capfirst
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from unfold.widgets import BASE_INPUT_CLASSES, UnfoldAdminCheckboxSelectMultipleWidget, UnfoldAdminTextInputWidget

from config.access.keys import create_key_once, end_key
from config.access.scopes import Scope
from config.admin_base.pages import (
    Question,
    ReadOnlyAdmin,
    actor_of,
    add_errors,
    ask_then_act,
    badge,
    get_subject,
)
from config.admin_base.theme import DropdownFilter, action, display
from config.common.database.sql import ArrayLength
from config.common.errors import Invalid
from config.records.form_claims import SentTwice
from config.records.models import AccessKey

LONGEST = timedelta(days=3653)
ACTIVE, EXPIRED, ENDED = _("active"), _("expired"), _("revoked")


class StateFilter(DropdownFilter):
    title = _("state")
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [("active", ACTIVE), ("expired", EXPIRED), ("ended", ENDED)]

    def queryset(self, request: HttpRequest, queryset: QuerySet[AccessKey]) -> QuerySet[AccessKey]:
        expired = Q(expires_at__lte=timezone.now())
        running = queryset.filter(ended_at=None)
        if self.value() == "active":
            return running.exclude(expired)
        if self.value() == "expired":
            return running.filter(expired)
        return queryset.exclude(ended_at=None) if self.value() == "ended" else queryset


class KindFilter(DropdownFilter):
    title = _("kind")
    parameter_name = "kind"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return list(AccessKey.Kind.choices)

    def queryset(self, request: HttpRequest, queryset: QuerySet[AccessKey]) -> QuerySet[AccessKey]:
        return queryset.filter(kind=self.value()) if self.value() else queryset


@admin.register(AccessKey)
class AccessKeyAdmin(ReadOnlyAdmin[AccessKey]):
    list_display = ("name", "kind", "subject", "scope_names", "beginning", "state", "created_at")
    list_filter = (StateFilter, KindFilter)
    empty_text = _("Programs call Postern with an access key. It is shown only once.")
    search_fields = ("name", "prefix", "subject")
    fields = ("name", "kind", "subject", "scope_names", "beginning", "state", "created_at", "expires_at", "ended_at")
    actions_detail = ("end",)
    actions_row = ("end",)

    @display(description=_("permissions"), ordering=ArrayLength("scopes"))
    def scope_names(self, key: AccessKey) -> SafeString | str:
        """Return what the key may do in words; the scopes are a hint. Keys of others than services need none."""
        if not key.scopes:
            return "–"
        is_whole = set(key.scopes) == {scope.value for scope in Scope}
        labels = dict(Scope.choices)
        words = gettext("everything") if is_whole else ", ".join(str(labels.get(each, each)) for each in key.scopes)
        return format_html('<span title="{}">{}</span>', ", ".join(key.scopes), words)

    @display(description=_("begins with"), ordering="prefix")
    def beginning(self, key: AccessKey) -> SafeString:
        return format_html("<code>{}…</code>", key.prefix)

    @display(description=_("state"), ordering="ended_at")
    def state(self, key: AccessKey) -> SafeString:
        if key.ended_at is not None:
            return badge(ENDED, "danger")
        if key.expires_at is not None and key.expires_at <= timezone.now():
            return badge(EXPIRED, "warning")
        return badge(ACTIVE, "success")

    def has_add_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("records.add_accesskey")

    def has_end_permission(self, request: HttpRequest, object_id: str | None = None) -> bool:
        """Offer to end a key to those who may, as long as it has not been ended."""
        if not request.user.has_perm("records.change_accesskey"):
            return False
        key = None if object_id is None else self.get_object(request, object_id)
        return key is None or key.ended_at is None

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        if not self.has_add_permission(request):
            raise PermissionDenied
        form = KeyForm(request.POST if request.method == "POST" else None)
        if form.is_valid():
            try:
                key, text = create_key_once(**form.cleaned_data, actor=actor_of(request))
            except SentTwice as error:
                messages.error(request, error.message)
                return redirect("admin:records_accesskey_changelist")
            except Invalid as error:
                add_errors(form, error)
            else:
                title = gettext("Your new key")
                return self._page(request, "admin_base/key_created.html", title=title, key=key, text=text)
        return self._page(request, "admin_base/add_key.html", title=gettext("New access key"), form=form)

    def _page(self, request: HttpRequest, template: str, **context: Any) -> HttpResponse:
        frame = self.admin_site.each_context(request)
        return TemplateResponse(request, template, {**frame, "opts": self.opts, **context})

    @action(description=_("Revoke key"), permissions=["end"], url_path="end", icon="key_off", dangerous=True)
    def end(self, request: HttpRequest, object_id: str) -> HttpResponse:
        key = get_subject(self, request, object_id)
        question = Question(
            title=gettext("Revoke this key?"),
            text=gettext("Calls with “%(name)s” are refused from now on. A revoked key cannot be restored.")
            % {"name": key.name},
            button=gettext("Revoke key"),
            dangerous=True,
        )

        def act(answers: dict[str, Any]) -> str:
            end_key(key=key, actor=actor_of(request))
            return gettext("The key “%(name)s” has been revoked.") % {"name": key.name}

        return ask_then_act(self, request, key, question=question, act=act)


class KeyForm(forms.Form):
    """What staff say of a new service key; keys of clients, devices and databases are made on their pages."""

    name = forms.CharField(
        label=_("Name"),
        max_length=100,
        help_text=_("Who uses the key and what for, so that it can be revoked safely later."),
        widget=UnfoldAdminTextInputWidget,
    )
    scopes = forms.MultipleChoiceField(
        label=_("Permissions"),
        # A function, called for each form: the labels are in the reader's language.
        choices=lambda: [
            (scope.value, format_html("{} <code>{}</code>", capfirst(scope.label), scope.value)) for scope in Scope
        ],
        widget=UnfoldAdminCheckboxSelectMultipleWidget,
    )
    expires_at = forms.DateField(
        label=_("Last day"),
        required=False,
        help_text=_(
            "The key stops working after this day (UTC). Leave empty for a key that works until it is revoked."
        ),
        widget=forms.DateInput(attrs={"type": "date", "class": " ".join([*BASE_INPUT_CLASSES, "pst-date"])}),
    )
    form_id = forms.UUIDField(initial=uuid.uuid4, widget=forms.HiddenInput)

    def clean_expires_at(self) -> datetime | None:
        """Return the first moment at which the key no longer works."""
        last_day: date | None = self.cleaned_data["expires_at"]
        if last_day is None:
            return None
        today = timezone.now().astimezone(UTC).date()
        if not today <= last_day <= today + LONGEST:
            raise forms.ValidationError(gettext("The last day must be between today and ten years from now."))
        return datetime.combine(last_day + timedelta(days=1), time(), tzinfo=UTC)
