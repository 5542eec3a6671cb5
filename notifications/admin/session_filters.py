"""What the list of sessions is narrowed by, in what order it stands, and how one is found by what a person types."""

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
        wanted = self.value() or ""
        if not wanted:
            return queryset
        is_number = wanted.isascii() and wanted.isdigit() and len(wanted) <= 10
        return queryset.filter(theme=int(wanted)) if is_number and int(wanted) < 2**31 else queryset.none()


class StatusFilter(DropdownFilter):
    title = _("status")
    parameter_name = "status"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return list(Status.choices)

    def queryset(self, request: HttpRequest, queryset: QuerySet[RepeatSession]) -> QuerySet[RepeatSession]:
        return queryset.filter(status=self.value()) if self.value() in Status.values else queryset


class DueFilter(DropdownFilter):
    """Sessions that wait for their time; those in other states have none."""

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
        wanted = bounds.get(self.value() or "")
        return queryset if wanted is None else queryset.filter(wanted, status=Status.SAVED)


def ordering_of(request: HttpRequest) -> tuple[str, ...]:
    """Return the order of repetition where the list is of what waits, else the newest first; each has its index."""
    status = request.GET.get("status")
    if status == Status.SAVED or (request.GET.get("due") and not status):
        return ("due_at", "save_number")
    return ("due_at",) if status == Status.ACTIVE else ("-id",)


def matching(text: str) -> Q:
    """Find a session by its number, also as events and texts write it; else those of a theme, else those of a chain."""
    if session := _ID.fullmatch(text):
        return Q(pk=int(session[1]))
    if theme := _THEME.fullmatch(text):
        return Q(theme=int(theme[1]))
    return Q(correlation_id=text)
