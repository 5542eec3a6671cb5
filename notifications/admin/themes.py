from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.contrib import admin, messages
from django.db import transaction
from django.db.models.functions import Concat
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.defaultfilters import filesizeformat
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from config.access.permissions import has_scope
from config.access.scopes import Scope
from config.admin_base.lists import ListAdmin
from config.admin_base.pages import actor_of, badge, explain, page_of, recent_changes
from config.admin_base.theme import display
from config.admin_base.times import time_element
from config.common.errors import ApplicationError
from config.records.form_claims import claim_form
from config.records.models import ChangeRecord
from notifications.admin.presentation import count_words, nowrap, say_seconds
from notifications.admin.theme_form import ThemeForm, named
from notifications.models import RepeatSession, Theme
from notifications.models.session import OWN_THEMES_FROM
from notifications.sessions.backlog import MOST_COUNTED, count_by_theme
from notifications.sessions.themes import KIND, create_theme, delete_theme, update_theme

Status = RepeatSession.Status
SHOWN = (Status.SAVED, Status.ACTIVE, Status.EXHAUSTED)


@dataclass(frozen=True)
class Count:
    """The sessions of a theme in one state, and where they are listed."""

    name: str
    number: str
    page: str
    is_bad: bool


@dataclass(frozen=True)
class ThemePage:
    counts: list[Count]
    unreachable: SafeString
    """The badge of an open breaker; empty while it is closed."""
    is_own: bool
    """Whether it is the product's own: then staff cannot change its handler."""
    changes: list[ChangeRecord] | None
    """None if the user may not see them."""


@admin.register(Theme)
class ThemeAdmin(ListAdmin[Theme]):
    list_display = ("number", "repeater", "sessions", "rhythm", "limits")
    search_fields = ("=number", "handler", "url")
    search_help_text = _("Number, part of a handler's name or a URL")
    empty_text = _("Add a theme to say who handles its sessions and how often they are retried.")
    actions = None
    form = ThemeForm
    fields = (*ThemeForm.Meta.fields, "form_id")
    change_form_outer_before_template = "admin/notifications/theme/overview.html"
    change_form_outer_after_template = "admin/notifications/theme/past.html"

    class Media:
        css = {"all": ["postern/sensors.css", "postern/sessions.css"]}

    @display(description=_("handled by"), ordering=Concat("handler", "url"))
    def repeater(self, theme: Theme) -> SafeString:
        text = theme.handler or theme.url
        own = gettext("built into Postern") if is_own(theme) else ""
        words = '<div class="pst-session">{} <span class="pst-quiet">{}</span> {}</div>'
        return format_html(words, text, own, unreachable_badge(theme, getattr(theme, "numbers", {})))

    @display(description=_("sessions"))
    def sessions(self, theme: Theme) -> SafeString | str:
        numbers: dict[str, int] = getattr(theme, "numbers", {})
        rows = [(each.page, each.number, each.name) for each in counts_of(theme, numbers) if each.number != "0"]
        link = '<a class="pst-link pst-nowrap" href="{}">{} {}</a>'
        links = format_html_join(" · ", link, rows)
        return format_html('<div class="pst-session">{}</div>', links) if rows else "–"

    @display(description=_("delay after a failure"), ordering="delay")
    def rhythm(self, theme: Theme) -> str:
        words = say_seconds(theme.delay)
        jitter = gettext("up to %(time)s more") % {"time": say_seconds(theme.jitter)} if theme.jitter else ""
        return ", ".join(part for part in (words, jitter) if part)

    @display(description=_("limits"), ordering="repeat_limit")
    def limits(self, theme: Theme) -> SafeString:
        said = ngettext("%(count)d repeat", "%(count)d repeats", theme.repeat_limit) % {"count": theme.repeat_limit}
        return nowrap(f"{said} · {filesizeformat(theme.length_limit)}")

    def has_add_permission(self, request: HttpRequest) -> bool:
        return super().has_add_permission(request) or has_scope(request.user, Scope.SESSIONS)

    def has_change_permission(self, request: HttpRequest, obj: Theme | None = None) -> bool:
        return super().has_change_permission(request, obj) or has_scope(request.user, Scope.SESSIONS)

    def has_delete_permission(self, request: HttpRequest, obj: Theme | None = None) -> bool:
        """Allow it on the page of a theme, and not for the product's own."""
        return obj is not None and not is_own(obj) and self.has_change_permission(request, obj)

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> tuple[Any, ...]:
        """List the theme alone: its sessions may be a million, and the service refuses to delete it then."""
        return [str(theme) for theme in objs], {}, set(), []

    def delete_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        try:
            return super().delete_view(request, object_id, extra_context)
        except ApplicationError as error:
            messages.error(request, explain(error))
            return HttpResponseRedirect(reverse("admin:notifications_theme_change", args=[object_id]))

    def delete_model(self, request: HttpRequest, obj: Theme) -> None:
        delete_theme(number=obj.pk, actor=actor_of(request))

    def get_readonly_fields(self, request: HttpRequest, obj: Theme | None = None) -> tuple[str, ...]:
        if obj is None:
            return ()
        return ("number", "handler", "url") if is_own(obj) else ("number",)

    def get_fields(self, request: HttpRequest, obj: Theme | None = None) -> Any:
        """Leave the hidden `form_id` out of the page of a known theme."""
        names = super().get_fields(request, obj)
        return names if obj is None else [name for name in names if name != "form_id"]

    def complete_rows(self, rows: Iterable[Theme]) -> None:
        """Count the sessions of each theme."""
        numbers = count_by_theme([row.pk for row in rows])
        for row in rows:
            setattr(row, "numbers", numbers.get(row.pk, {}))  # noqa: B010 (rides along to the column)

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        theme = self.get_object(request, object_id) if self.has_view_permission(request) else None
        page = None if theme is None else build_theme_page(request, theme)
        return super().change_view(request, object_id, form_url, {**(extra_context or {}), "page": page})

    def save_model(self, request: HttpRequest, obj: Theme, form: Any, change: bool) -> None:
        """Call the service; for a known theme only with the values that this user changed."""
        values, actor = named(form.cleaned_data), actor_of(request)
        if change:
            edits = {name: value for name, value in values.items() if name in form.changed_data}
            secret = update_theme(number=obj.pk, actor=actor, **edits)
        else:
            with transaction.atomic():
                claim_form(form.cleaned_data["form_id"], purpose=KIND)
                secret = create_theme(number=obj.pk, actor=actor, **values)
        setattr(obj, "new_secret", secret)  # noqa: B010 (rides along to the response)

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        """Do nothing: a theme has no related rows in its form."""

    def response_add(self, request: HttpRequest, obj: Theme, post_url_continue: str | None = None) -> HttpResponse:
        return self._secret_page(request, obj) or super().response_add(request, obj, post_url_continue)

    def response_change(self, request: HttpRequest, obj: Theme) -> HttpResponse:
        return self._secret_page(request, obj) or super().response_change(request, obj)

    def _secret_page(self, request: HttpRequest, theme: Theme) -> HttpResponse | None:
        """Return the page that shows a new secret this once; None if there is none."""
        secret = getattr(theme, "new_secret", None)
        if secret is None:
            return None
        title = gettext("Secret of theme %(number)s") % {"number": theme.pk}
        frame = self.admin_site.each_context(request)
        shared = {"opts": self.opts, "title": title, "original": theme, "back": page_of(self, theme)}
        words = gettext(
            "Copy the secret now: it is shown only once. The service at the URL uses it to verify the signature of "
            "calls (Standard Webhooks)."
        )
        return TemplateResponse(
            request, "admin_base/shown_once.html", {**frame, **shared, "secret": secret, "explanation": words}
        )


def build_theme_page(request: HttpRequest, theme: Theme) -> ThemePage:
    may_see = request.user.has_perm("records.view_changerecord")
    numbers = count_by_theme([theme.pk]).get(theme.pk, {})
    return ThemePage(
        counts=counts_of(theme, numbers),
        unreachable=unreachable_badge(theme, numbers),
        is_own=is_own(theme),
        changes=recent_changes(request, KIND, str(theme.pk)) if may_see else None,
    )


def unreachable_badge(theme: Theme, numbers: dict[str, int]) -> SafeString:
    """Return the badge of an open breaker, with how many sessions wait and since when; empty if it is closed."""
    if theme.opened_at is None:
        return SafeString("")
    count = count_words(numbers.get(Status.SAVED.value, 0), MOST_COUNTED)
    words = format_html(gettext("waiting: {count}, since {since}"), count=count, since=time_element(theme.opened_at))
    return format_html("{} <small>{}</small>", badge(gettext("not responding"), "danger"), words)


def counts_of(theme: Theme, numbers: dict[str, int]) -> list[Count]:
    listed = "admin:notifications_repeatsession_changelist"
    return [
        Count(
            name=str(status.label),
            number=count_words(numbers.get(status.value, 0), MOST_COUNTED),
            page=reverse(listed, query={"theme": theme.pk, "status": status.value}),
            is_bad=status == Status.EXHAUSTED and numbers.get(status.value, 0) > 0,
        )
        for status in SHOWN
    ]


def is_own(theme: Theme) -> bool:
    return theme.pk >= OWN_THEMES_FROM
