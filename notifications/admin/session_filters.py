"""Filters, order and search of the list of sessions."""

import re
from datetime import timedelta
from typing import Any

from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from config.admin_base.theme import DropdownFilter
from notifications.admin.presentation import repeater_of
from notifications.models import RepeatSession, Theme

Status = RepeatSession.Status
THEMES_OFFERED = 200
HOUR, DAY = timedelta(hours=1), timedelta(days=1)

_ID = re.compile(r"(?:session/|#|[0-9]{1,10}/)?([0-9]{1,18})")
_THEME = re.compile(r"theme/([0-9]{1,9})")


class ThemeFilter(DropdownFilter):
    title = _("theme")
    parameter_name = "theme"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [(str(theme.pk), f"{theme} · {repeater_of(theme)}") for theme in Theme.objects.all()[:THEMES_OFFERED]]

    def queryset(self, request: HttpRequest, queryset: QuerySet[RepeatSession]) -> QuerySet[RepeatSession]:
        chosen = self.value() or ""
        if not chosen:
            return queryset
        is_number = chosen.isascii() and chosen.isdigit() and len(chosen) <= 10
        return queryset.filter(theme=int(chosen)) if is_number and int(chosen) < 2**31 else queryset.none()


class StatusFilter(DropdownFilter):
    title = _("status")
    parameter_name = "status"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return list(Status.choices)

    def queryset(self, request: HttpRequest, queryset: QuerySet[RepeatSession]) -> QuerySet[RepeatSession]:
        return queryset.filter(status=self.value()) if self.value() in Status.values else queryset


class DueFilter(DropdownFilter):
    """By the repeat time, which saved sessions alone have."""

    title = pgettext_lazy("session", "when due")
    parameter_name = "due"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [
            ("overdue", pgettext_lazy("session", "overdue")),
            ("hour", _("within the next hour")),
            ("day", _("within the next day")),
            ("later", pgettext_lazy("session", "later")),
        ]

    def queryset(self, request: HttpRequest, queryset: QuerySet[RepeatSession]) -> QuerySet[RepeatSession]:
        now = timezone.now()
        bounds = {
            "overdue": Q(due_at__lt=now),
            "hour": Q(due_at__gte=now, due_at__lt=now + HOUR),
            "day": Q(due_at__gte=now, due_at__lt=now + DAY),
            "later": Q(due_at__gte=now + DAY),
        }
        chosen = bounds.get(self.value() or "")
        return queryset if chosen is None else queryset.filter(chosen, status=Status.SAVED)


def ordering_of(request: HttpRequest) -> tuple[str, ...]:
    """Return the order of repetition for lists of saved sessions, else the newest first; each order has its index."""
    status = request.GET.get("status")
    if status == Status.SAVED or (request.GET.get("due") and not status):
        return ("due_at", "save_number")
    return ("due_at",) if status == Status.ACTIVE else ("-id",)


def matching(text: str) -> Q:
    """Return the condition of a search: by session number, also as events write it, by theme, by correlation id."""
    if session := _ID.fullmatch(text):
        return Q(pk=int(session[1]))
    if theme := _THEME.fullmatch(text):
        return Q(theme=int(theme[1]))
    return Q(correlation_id=text)
