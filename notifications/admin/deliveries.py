from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

from django.contrib import admin, messages
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.timesince import timesince, timeuntil
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from config.access.scopes import Scope, permission
from config.admin_base.confirm_many import apply_to_each
from config.admin_base.pages import (
    BigTableAdmin,
    Question,
    actor_of,
    ask_then_act,
    badge,
    get_subject,
    trace_link,
)
from config.admin_base.theme import DropdownFilter, action, display
from config.common.text_templates import render_text
from notifications.admin.dead_letters import dead_letters_view
from notifications.admin.events import as_code
from notifications.admin.presentation import delivery_badge, nowrap
from notifications.models import Attempt, Delivery, Endpoint
from notifications.names import Named, find_endpoints, find_subjects, name_endpoints, name_subject
from notifications.selectors import attempts_of, first_delivery_since, newest_about
from notifications.sending.policy import is_success
from notifications.services.resend import resend_delivery

MOST_AT_ONCE = 500
LISTS_FOUND = 100
ENDPOINTS_FOUND = 50
ATTEMPTS_SHOWN = 100


@dataclass(frozen=True)
class ShownAttempt:
    attempt: Attempt
    badge: SafeString


@dataclass(frozen=True)
class DeliveryPage:
    timeline: list[ShownAttempt]
    """The newest first."""


class StatusFilter(DropdownFilter):
    title = _("status")
    parameter_name = "status"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return list(Delivery.Status.choices)

    def queryset(self, request: HttpRequest, queryset: QuerySet[Delivery]) -> QuerySet[Delivery]:
        return queryset.filter(status=self.value()) if self.value() in Delivery.Status.values else queryset


class AgeFilter(DropdownFilter):
    """The bound is an id, because ids rise with the time: no page reads the table to its end."""

    title = _("age")
    parameter_name = "age"
    HOURS = {"1h": 1, "24h": 24, "7d": 168}

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [
            ("1h", _("last hour")),
            ("24h", _("last 24 hours")),
            ("7d", _("last 7 days")),
            ("-1h", _("older than an hour")),
            ("-24h", _("older than a day")),
            ("-7d", _("older than a week")),
        ]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Delivery]) -> QuerySet[Delivery]:
        age = self.value() or ""
        hours = self.HOURS.get(age.removeprefix("-"))
        if hours is None:
            return queryset
        first = first_delivery_since(timezone.now() - timedelta(hours=hours))
        return queryset.filter(pk__lt=first) if age.startswith("-") else queryset.filter(pk__gte=first)


@admin.register(Delivery)
class DeliveryAdmin(BigTableAdmin[Delivery]):
    list_display = ("what", "receiver", "state", "attempts_made", "age", "next_attempt")
    list_filter = (StatusFilter, AgeFilter)
    list_filter_submit = True
    list_select_related = ("endpoint",)
    not_listed = ("body",)
    search_fields = ("subject",)
    search_help_text = _("Sensor id, part of a client's name or URL, delivery number, webhook-id or correlation id")
    fields = (
        "what",
        "to_whom",
        "state",
        "why",
        "attempts_made",
        "next_attempt",
        "created_at",
        "webhook_id",
        "chain",
        "content",
    )
    actions = ("resend_chosen",)
    actions_detail = ("resend",)
    actions_row = ("resend",)
    change_form_outer_after_template = "admin/notifications/delivery/timeline.html"

    class Media:
        css = {"all": ["postern/sensors.css", "postern/deliveries.css"]}

    @display(description=_("message"))
    def what(self, delivery: Delivery) -> str:
        named = name_subject(delivery.subject)
        about = named.text if named is not None else delivery.subject
        return " · ".join(part for part in (delivery.type, about) if part)

    @display(description=_("to whom"))
    def receiver(self, delivery: Delivery) -> SafeString:
        """Return the owner and the host; the page of the delivery has the whole address."""
        owner, host = self._owner_of(delivery), urlsplit(delivery.endpoint.url).netloc
        text = delivery.endpoint.url if owner is None else owner.text
        return format_html('{} <span class="pst-url pst-quiet">{}</span>', text, host)

    @display(description=_("to whom"))
    def to_whom(self, delivery: Delivery) -> SafeString:
        owner, url = self._owner_of(delivery), delivery.endpoint.url
        if owner is None:
            return format_html('<span class="pst-url">{}</span>', url)
        link = format_html('<a class="pst-link" href="{}">{}</a>', owner.page, owner.text)
        return format_html('{} <span class="pst-url pst-quiet">{}</span>', link, url)

    @display(description=_("status"))
    def state(self, delivery: Delivery) -> SafeString:
        return delivery_badge(delivery)

    @display(description=_("age"))
    def age(self, delivery: Delivery) -> SafeString:
        return nowrap(_since(delivery.created_at))

    @display(description=_("next attempt"))
    def next_attempt(self, delivery: Delivery) -> SafeString:
        """Return when it is attempted next, or why not."""
        return nowrap(_next_attempt(delivery))

    @display(description=_("reason"))
    def why(self, delivery: Delivery) -> SafeString | str:
        if delivery.superseded_by_id is None:
            return render_text(delivery.reason, {}) or "–"
        page = reverse("admin:notifications_delivery_change", args=[delivery.superseded_by_id])
        words = gettext("superseded by %(number)s") % {"number": delivery.superseded_by_id}
        return format_html('<a class="pst-link" href="{}">{}</a>', page, words)

    @display(description=_("webhook-id"))
    def webhook_id(self, delivery: Delivery) -> str:
        return delivery.webhook_id

    @display(description=_("correlation id"))
    def chain(self, delivery: Delivery) -> SafeString | str:
        return trace_link(delivery.correlation_id)

    @display(description=_("body"))
    def content(self, delivery: Delivery) -> SafeString:
        return as_code(delivery.body)

    def get_urls(self) -> list[URLPattern]:
        page = self.admin_site.admin_view(lambda request: dead_letters_view(self, request))
        return [path("dead/", page, name="notifications_delivery_dead"), *super().get_urls()]

    def get_changelist_instance(self, request: HttpRequest) -> Any:
        """Find the owners of a whole page by one look-up."""
        changes = super().get_changelist_instance(request)
        owners = name_endpoints({row.endpoint_id for row in changes.result_list})
        for row in changes.result_list:
            setattr(row, "owner", owners.get(row.endpoint_id))  # noqa: B010 (rides along to the column)
        return changes

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Delivery], search_term: str
    ) -> tuple[QuerySet[Delivery], bool]:
        text = search_term.strip()
        return (queryset.filter(_matching(text)) if text else queryset), False

    def has_operate_permission(self, request: HttpRequest, object_id: str | None = None) -> bool:
        """Offer to resend to operators, unless a newer delivery has superseded this one."""
        if not request.user.has_perm(f"records.{permission(Scope.OPERATIONS)}"):
            return False
        delivery = None if object_id is None else self.get_object(request, object_id)
        return delivery is None or delivery.status != Delivery.Status.SUPERSEDED

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        delivery = self.get_object(request, object_id)
        page = None if delivery is None else build_delivery_page(delivery)
        return super().change_view(request, object_id, form_url, {**(extra_context or {}), "page": page})

    @admin.action(description=_("Resend"), permissions=["operate"])
    def resend_chosen(self, request: HttpRequest, chosen: QuerySet[Delivery]) -> None:
        """Resend those of the chosen deliveries that can be; report how many were left out."""
        keys = chosen.order_by("pk").values_list("pk", flat=True)[:MOST_AT_ONCE]
        done, refused = apply_to_each(keys, lambda pk: resend_delivery(pk, actor_of(request)))
        said = ngettext("%(count)d message is sent again.", "%(count)d messages are sent again.", done)
        messages.success(request, said % {"count": done})
        if refused:
            said = ngettext(
                "%(count)d was left out: a newer message has followed it, or its client is inactive.",
                "%(count)d were left out: newer messages have followed them, or their clients are inactive.",
                refused,
            )
            messages.warning(request, said % {"count": refused})

    @action(description=_("Resend"), permissions=["operate"], url_path="resend", icon="send")
    def resend(self, request: HttpRequest, object_id: str) -> HttpResponse:
        delivery = get_subject(self, request, object_id)
        question = Question(
            title=gettext("Send this message again?"),
            text=gettext("It is sent at once, past an open breaker, and has all its attempts again."),
            button=gettext("Resend"),
        )

        def act(answers: dict[str, Any]) -> str:
            if resend_delivery(delivery.pk, actor_of(request)):
                return gettext("The message is on its way.")
            return gettext("An attempt is under way already; nothing has been changed.")

        return ask_then_act(self, request, delivery, question=question, act=act)

    def _owner_of(self, delivery: Delivery) -> Named | None:
        """Return the owner that the list has found for the whole page; on the page of one delivery look it up."""
        if not hasattr(delivery, "owner"):
            setattr(delivery, "owner", name_endpoints([delivery.endpoint_id]).get(delivery.endpoint_id))  # noqa: B010
        owner: Named | None = getattr(delivery, "owner")  # noqa: B009
        return owner


def _matching(text: str) -> Q:
    """Return the condition of a search; each part is answered by an index of its own."""
    subjects, lists = find_subjects(text), Delivery.objects.filter(family=Delivery.Family.LIST)
    listed = {pk for subject in subjects for pk in newest_about(lists, subject, limit=LISTS_FOUND)}
    by_url = Endpoint.objects.filter(url__icontains=text).values_list("pk", flat=True)[:ENDPOINTS_FOUND]
    named = {*find_endpoints(text), *by_url}
    found = Q(subject__in=subjects) | Q(correlation_id=text) | Q(pk__in=listed) | Q(endpoint__in=named)
    with suppress(ValueError):
        found |= Q(message_id=UUID(text))
    return found | Q(pk=int(text)) if text.isascii() and text.isdigit() and len(text) < 19 else found


def _next_attempt(delivery: Delivery) -> str:
    now = timezone.now()
    if delivery.due_at is None:
        return "–"
    if delivery.under_way_until is not None and delivery.under_way_until > now:
        return gettext("under way")
    if not delivery.endpoint.active:
        return gettext("never: inactive")
    if delivery.endpoint.paused:
        return gettext("paused")
    probe_at = None if delivery.is_forced else delivery.endpoint.probe_at
    due_at = max(time for time in (delivery.due_at, probe_at, delivery.endpoint.not_before) if time is not None)
    if due_at <= now:
        return gettext("now")
    if due_at - now < timedelta(minutes=1):
        return gettext("within a minute")
    return gettext("in %(time)s") % {"time": timeuntil(due_at, now, depth=1)}


def _since(time: Any) -> str:
    now = timezone.now()
    if now - time < timedelta(minutes=1):
        return gettext("just now")
    return timesince(time, now, depth=1)


def build_delivery_page(delivery: Delivery) -> DeliveryPage:
    made = attempts_of([delivery.pk], since=delivery.created_at).order_by("-pk")[:ATTEMPTS_SHOWN]
    return DeliveryPage([ShownAttempt(attempt, _attempt_badge(attempt)) for attempt in made])


def _attempt_badge(attempt: Attempt) -> SafeString:
    if attempt.status is None:
        return badge(gettext("no answer"), "danger")
    return badge(str(attempt.status), "success" if is_success(attempt.status) else "danger")
