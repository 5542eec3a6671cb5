"""The menu of the admin: one table, group by group; a person sees the entries that their permissions allow."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict

from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from config.access.scopes import Scope, permission
from config.admin_base.counts import MOST_ON_A_BADGE, badge_text, count_each
from messaging.models import Message
from notifications.models import Alert, Incident, ParkedMessage
from notifications.services.resend import select_dead_letters
from processes.coordination.selectors import failed_compensations
from processes.exchange.selectors import in_doubt
from processes.workflows.selectors import tasks_for


@dataclass(frozen=True)
class MenuEntry:
    title: Promise
    icon: str
    page: str
    """The name of the page's URL."""
    permission: str
    waiting: Callable[[], QuerySet[Any]] | None = None
    """What waits there for a person: counted on every page, so an index must answer it."""
    waiting_for: Callable[[Any], Sequence[QuerySet[Any]]] | None = None
    """The same of the one who looks."""


class Item(TypedDict):
    title: str
    icon: str
    link: str
    active: bool
    badge: str


class Group(TypedDict):
    title: str
    items: list[Item]


def _list(title: Promise, icon: str, model: str, waiting: Callable[[], QuerySet[Any]] | None = None) -> MenuEntry:
    """Return the entry of a model's list."""
    app_label, name = model.split(".")
    page = f"admin:{app_label}_{name}_changelist"
    return MenuEntry(title, icon, page=page, permission=f"{app_label}.view_{name}", waiting=waiting)


def _workflow_list(
    title: Promise, icon: str, name: str, waiting_for: Callable[[Any], Sequence[QuerySet[Any]]] | None = None
) -> MenuEntry:
    """Return the entry of a list of workflows: whoever may read them by REST sees it."""
    allowed = f"records.{permission(Scope.WORKFLOWS_READ)}"
    page = f"admin:workflows_{name}_changelist"
    return MenuEntry(title, icon, page=page, permission=allowed, waiting_for=waiting_for)


# A group has at most seven entries: more are not read, they are searched.
MENU: tuple[tuple[Promise, tuple[MenuEntry, ...]], ...] = (
    (
        _("Needs attention"),
        (
            _list(
                _("Alerts"),
                "notifications_active",
                "notifications.alert",
                waiting=lambda: Alert.objects.filter(status=Alert.Status.OPEN),
            ),
            _workflow_list(_("My tasks"), "inbox", "workitem", waiting_for=tasks_for),
            MenuEntry(
                _("In doubt"),
                "help",
                page="admin:exchange_doubt",
                permission="exchange.view_exchangeprocess",
                waiting=in_doubt,
            ),
            _list(
                _("Incidents"),
                "emergency_home",
                "notifications.incident",
                waiting=lambda: Incident.objects.filter(resolved_at=None),
            ),
            MenuEntry(
                _("Undelivered messages"),
                "unsubscribe",
                page="admin:notifications_delivery_dead",
                permission="notifications.view_delivery",
                waiting=select_dead_letters,
            ),
            _list(
                _("Parked messages"),
                "local_parking",
                "notifications.parkedmessage",
                waiting=lambda: ParkedMessage.objects.filter(status=ParkedMessage.Status.PARKED),
            ),
            MenuEntry(
                _("Missing files"),
                "unknown_document",
                page="admin:messaging_message_missing",
                permission="messaging.view_message",
                waiting=lambda: Message.objects.filter(file_missing_at__isnull=False),
            ),
        ),
    ),
    (
        _("Sensors"),
        (
            _list(_("Sensors"), "sensor_door", "sensors.sensor"),
            _list(_("Clients"), "contacts", "sensors.client"),
            _list(_("Rejected signals"), "signal_disconnected", "sensors.rejectedsignal"),
            MenuEntry(
                _("Why not?"),
                "contact_support",
                page="explain-page",
                permission="notifications.view_delivery",
            ),
        ),
    ),
    (
        _("Notifications"),
        (
            _list(_("Deliveries"), "outgoing_mail", "notifications.delivery"),
            _list(_("Events"), "bolt", "notifications.event"),
            MenuEntry(_("Trace"), "timeline", page="trace-page", permission="notifications.view_event"),
            _list(_("Event consumers"), "conversion_path", "notifications.follower"),
            _list(_("Escalation"), "stairs", "notifications.rung"),
            _list(_("Repeat sessions"), "replay", "notifications.repeatsession"),
            _list(_("Session themes"), "category", "notifications.theme"),
        ),
    ),
    (
        _("Messaging"),
        (
            _list(_("Messages"), "mail", "messaging.message"),
            _list(_("Exchange processes"), "sync_alt", "exchange.exchangeprocess"),
            MenuEntry(
                _("Statistics"),
                "bar_chart",
                page="admin:exchange_statistics",
                permission="exchange.view_exchangeprocess",
            ),
            _list(_("Enterprises"), "domain", "messaging.enterprise"),
            _list(_("Subsystems"), "apps", "messaging.subsystem"),
            _list(_("Devices"), "smartphone", "messaging.device"),
            _list(_("Databases"), "database", "messaging.exchangedatabase"),
        ),
    ),
    (
        _("Processes"),
        (
            _workflow_list(_("Workflow instances"), "account_tree", "workflowinstance"),
            _workflow_list(_("Workflow definitions"), "schema", "workflowdefinition"),
            _workflow_list(_("Batches"), "dynamic_feed", "workflowbatch"),
            _workflow_list(_("Drafts"), "draw", "workflowdraft"),
            _list(_("Change sets"), "hub", "coordination.appevent", waiting=failed_compensations),
        ),
    ),
    (
        pgettext_lazy("menu", "System"),
        (
            _list(_("Access keys"), "key", "records.accesskey"),
            _list(_("Registry changes"), "history_edu", "records.changerecord"),
            _list(_("Log"), "receipt_long", "records.logentry"),
            _list(_("Schedule"), "calendar_clock", "django_celery_beat.periodictask"),
            _list(_("Users"), "person", "auth.user"),
            _list(_("Groups"), "group", "auth.group"),
        ),
    ),
)


def navigation(request: HttpRequest) -> list[Group]:
    """Return the groups that have something to show to this person, the start page before them."""
    address = reverse("admin:index")
    home = Item(title=str(_("Start page")), icon="home", link=address, active=request.path == address, badge="")
    allowed = [
        (title, [entry for entry in entries if request.user.has_perm(entry.permission)]) for title, entries in MENU
    ]
    badges = count_waiting([entry for _title, entries in allowed for entry in entries], request.user)
    groups = [Group(title=str(title), items=[_item(each, badges) for each in entries]) for title, entries in allowed]
    _mark_active(request, [item for group in groups for item in group["items"]])
    return [Group(title="", items=[home]), *(group for group in groups if group["items"])]


def find_entries(request: HttpRequest, text: str) -> list[tuple[Promise, MenuEntry]]:
    """Return the entries whose title has this part, each with the title of its group."""
    part = text.lower()
    return [
        (group, entry)
        for group, entries in MENU
        for entry in entries
        if part in str(entry.title).lower() and request.user.has_perm(entry.permission)
    ]


def count_waiting(entries: Sequence[MenuEntry], user: Any) -> dict[str, str]:
    """Return the badges of the pages where something waits for a person, all by one statement."""
    asked = [(entry.page, entry.waiting()) for entry in entries if entry.waiting is not None]
    asked += [
        (entry.page, rows) for entry in entries if entry.waiting_for is not None for rows in entry.waiting_for(user)
    ]
    totals: dict[str, int] = {}
    for (page, _rows), count in zip(
        asked, count_each([rows for _page, rows in asked], most=MOST_ON_A_BADGE), strict=True
    ):
        totals[page] = totals.get(page, 0) + count
    return {page: badge_text(count, most=MOST_ON_A_BADGE) for page, count in totals.items()}


def _item(entry: MenuEntry, badges: dict[str, str]) -> Item:
    return Item(
        title=str(entry.title),
        icon=entry.icon,
        link=reverse(entry.page),
        active=False,
        badge=badges.get(entry.page, ""),
    )


def _mark_active(request: HttpRequest, items: list[Item]) -> None:
    """Mark the entry of the page that is shown; of a page below another one's address its own entry alone."""
    around = [item for item in items if request.path.startswith(item["link"])]
    if around:
        max(around, key=lambda item: len(item["link"]))["active"] = True
