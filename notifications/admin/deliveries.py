from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext, ngettext, ngettext_lazy
from django.utils.translation import gettext_lazy as _

from config.access.scopes import Scope, permission
from config.admin_base.confirm_many import ManyAction, Report, Tally, apply_to_each, confirm_many
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
from config.admin_base.times import length_element
from config.common.durations import say_length
from notifications.admin.dead_letters import dead_letters_view
from notifications.admin.events import as_code
from notifications.admin.presentation import bare_address, delivery_badge, name_rows, named_of, nowrap
from notifications.event_titles import row_title, row_title_html, title_value
from notifications.models import Attempt, Delivery, Endpoint
from notifications.names import SEPARATOR, Named, find_endpoints, find_subjects, name_endpoints
from notifications.presentation import say_reason
from notifications.selectors import attempts_of, first_delivery_since, newest_about
from notifications.sending.policy import is_success
from notifications.services.resend import resend_delivery

MOST_AT_ONCE = 500
COUNTED = ngettext_lazy("%(number)s message:", "%(number)s messages:", "count")
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
    empty_text = _(
        "Messages to clients and alerts to people appear here with every attempt. Link a sensor to a client first."
    )
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

    def get_queryset(self, request: HttpRequest) -> QuerySet[Delivery]:
        """Read of the body, which may be of any length, what its title needs."""
        return super().get_queryset(request).annotate(title_value=title_value("body"))

    @display(description=_("message"), ordering="type")
    def what(self, delivery: Delivery) -> SafeString:
        named = named_of(delivery)
        about = named.text if named is not None else delivery.subject
        title = row_title_html(delivery, "body")
        return format_html("{} · {}", title, about) if about else title

    @display(description=_("to whom"), ordering="endpoint__url")
    def receiver(self, delivery: Delivery) -> SafeString:
        """Return the owner and the host; the page of the delivery has the whole address."""
        owner, host = self._owner_of(delivery), urlsplit(delivery.endpoint.url).netloc
        text = bare_address(delivery.endpoint.url) if owner is None else owner.text
        return format_html('{} <span class="pst-url pst-quiet">{}</span>', text, host)

    @display(description=_("to whom"))
    def to_whom(self, delivery: Delivery) -> SafeString:
        owner, url = self._owner_of(delivery), delivery.endpoint.url
        if owner is None:
            return format_html('<span class="pst-url">{}</span>', bare_address(url))
        link = format_html('<a class="pst-link" href="{}">{}</a>', owner.page, owner.text)
        return format_html('{} <span class="pst-url pst-quiet">{}</span>', link, url)

    @display(description=_("status"), ordering="status")
    def state(self, delivery: Delivery) -> SafeString:
        return delivery_badge(delivery)

    @display(description=_("age"), ordering="pk")
    def age(self, delivery: Delivery) -> SafeString:
        return length_element(delivery.created_at)

    @display(description=_("next attempt"), ordering="due_at")
    def next_attempt(self, delivery: Delivery) -> SafeString:
        """Return when it is attempted next, or why not."""
        return nowrap(_next_attempt(delivery))

    @display(description=_("reason"))
    def why(self, delivery: Delivery) -> SafeString | str:
        if delivery.superseded_by_id is None:
            return say_reason(delivery.reason) or "–"
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

    def complete_rows(self, rows: Iterable[Delivery]) -> None:
        """Find owners and subjects by a look-up each."""
        name_rows(rows)
        owners = name_endpoints({row.endpoint_id for row in rows})
        for row in rows:
            setattr(row, "owner", owners.get(row.endpoint_id))  # noqa: B010 (rides along to the column)

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
    def resend_chosen(self, request: HttpRequest, chosen: QuerySet[Delivery]) -> HttpResponse | None:
        question = Question(
            title=gettext("Resend these messages?"),
            text=gettext(
                "Each is sent at once, even while sending is paused, and all its attempts start over. Messages "
                "followed by a newer one are skipped."
            ),
            button=gettext("Resend"),
        )

        def act(keys: Sequence[int], answers: dict[str, Any]) -> Tally:
            return Tally(*apply_to_each(keys, lambda pk: resend_delivery(pk, actor_of(request))))

        many = ManyAction(question, act, _report_resent, COUNTED, MOST_AT_ONCE, shown_as=_say_each)
        return confirm_many(self, request, chosen, many)

    @action(description=_("Resend"), permissions=["operate"], url_path="resend", icon="send")
    def resend(self, request: HttpRequest, object_id: str) -> HttpResponse:
        delivery = get_subject(self, request, object_id)
        question = Question(
            title=gettext("Resend this message?"),
            text=gettext("It is sent at once, even while sending is paused, and all its attempts start over."),
            button=gettext("Resend"),
        )

        def act(answers: dict[str, Any]) -> str:
            if resend_delivery(delivery.pk, actor_of(request)):
                return gettext("The message is being resent.")
            return gettext("A delivery attempt is already in progress; nothing has been changed.")

        return ask_then_act(self, request, delivery, question=question, act=act)

    def _owner_of(self, delivery: Delivery) -> Named | None:
        """Return the owner that the list has found for the whole page; on the page of one delivery look it up."""
        if not hasattr(delivery, "owner"):
            setattr(delivery, "owner", name_endpoints([delivery.endpoint_id]).get(delivery.endpoint_id))  # noqa: B010
        owner: Named | None = getattr(delivery, "owner")  # noqa: B009
        return owner


def _say_each(rows: QuerySet[Delivery]) -> list[str]:
    """Return what each message says, about what, and to whom."""
    found = list(rows.select_related("endpoint").defer("body").annotate(title_value=title_value("body")))
    name_rows(found)
    owners, words = name_endpoints([delivery.endpoint_id for delivery in found]), []
    for delivery in found:
        named, owner = named_of(delivery), owners.get(delivery.endpoint_id)
        about = delivery.subject if named is None else named.text
        receiver = bare_address(delivery.endpoint.url) if owner is None else owner.text
        words.append(SEPARATOR.join(filter(None, [row_title(delivery, "body"), about])) + f" → {receiver}")
    return words


def _report_resent(tally: Tally) -> Report:
    said = ngettext("%(count)d message is being resent.", "%(count)d messages are being resent.", tally.done)
    if not tally.left_out:
        return Report(said % {"count": tally.done})
    left_out = ngettext(
        "%(count)d skipped: a newer message has followed it, or its client is inactive.",
        "%(count)d skipped: newer messages have followed them, or their clients are inactive.",
        tally.left_out,
    )
    return Report(said % {"count": tally.done}, left_out % {"count": tally.left_out})


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
        return gettext("in progress")
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
    return gettext("in %(time)s") % {"time": say_length(due_at - now)}


def build_delivery_page(delivery: Delivery) -> DeliveryPage:
    made = attempts_of([delivery.pk], since=delivery.created_at).order_by("-pk")[:ATTEMPTS_SHOWN]
    timeline = []
    for attempt in made:
        words = gettext("no response") if attempt.status is None else str(attempt.status)
        timeline.append(ShownAttempt(attempt, badge(words, "success" if is_success(attempt.status) else "danger")))
    return DeliveryPage(timeline)
