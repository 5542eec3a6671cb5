"""The menu of the admin: one table, group by group; a person sees the entries that their permissions allow."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypedDict

from django.http import HttpRequest
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from config.access.scopes import Scope, permission
from processes.coordination.selectors import count_failed_compensations
from processes.exchange.selectors import count_in_doubt


@dataclass(frozen=True)
class MenuEntry:
    title: Promise
    icon: str
    page: str
    """The name of the page's URL."""
    permission: str
    count: Callable[[], int] | None = None
    """How many wait there for a person: asked on every page, so an index must answer it."""


class Item(TypedDict):
    title: str
    icon: str
    link: str
    active: bool
    badge: int


class Group(TypedDict):
    title: str
    items: list[Item]


def _list(title: Promise, icon: str, model: str) -> MenuEntry:
    """Return the entry of a model's list."""
    app_label, name = model.split(".")
    return MenuEntry(title, icon, page=f"admin:{app_label}_{name}_changelist", permission=f"{app_label}.view_{name}")


def _workflow_list(title: Promise, icon: str, name: str) -> MenuEntry:
    """Return the entry of a list of workflows: whoever may read them by REST sees it."""
    allowed = f"records.{permission(Scope.WORKFLOWS_READ)}"
    return MenuEntry(title, icon, page=f"admin:workflows_{name}_changelist", permission=allowed)


MENU: tuple[tuple[Promise, tuple[MenuEntry, ...]], ...] = (
    (
        _("Sensors"),
        (
            _list(_("Sensors"), "sensor_door", "sensors.sensor"),
            _list(_("Clients"), "contacts", "sensors.client"),
            _list(_("Rejected signals"), "signal_disconnected", "sensors.rejectedsignal"),
        ),
    ),
    (
        _("Notifications"),
        (
            _list(_("Alerts"), "notifications_active", "notifications.alert"),
            _list(_("Deliveries"), "outgoing_mail", "notifications.delivery"),
            MenuEntry(
                _("Dead letters"),
                "unsubscribe",
                page="admin:notifications_delivery_dead",
                permission="notifications.view_delivery",
            ),
            _list(_("Events"), "bolt", "notifications.event"),
            MenuEntry(_("Trace"), "timeline", page="trace-page", permission="notifications.view_event"),
            _list(_("Followers"), "conversion_path", "notifications.follower"),
            _list(_("Incidents"), "emergency_home", "notifications.incident"),
            _list(_("Parked messages"), "local_parking", "notifications.parkedmessage"),
            _list(_("Alert ladder"), "stairs", "notifications.rung"),
            _list(_("Repeat sessions"), "replay", "notifications.repeatsession"),
            _list(_("Session themes"), "category", "notifications.theme"),
        ),
    ),
    (
        _("Messaging"),
        (
            _list(_("Messages"), "mail", "messaging.message"),
            MenuEntry(
                _("Missing files"),
                "unknown_document",
                page="admin:messaging_message_missing",
                permission="messaging.view_message",
            ),
            _list(_("Exchange processes"), "sync_alt", "exchange.exchangeprocess"),
            MenuEntry(
                _("In doubt"),
                "help",
                page="admin:exchange_doubt",
                permission="exchange.view_exchangeprocess",
                count=count_in_doubt,
            ),
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
            _workflow_list(_("Task inbox"), "inbox", "workitem"),
            _workflow_list(_("Workflow instances"), "account_tree", "workflowinstance"),
            _workflow_list(_("Workflow definitions"), "schema", "workflowdefinition"),
            MenuEntry(
                _("Coordination"),
                "hub",
                page="admin:coordination_appevent_changelist",
                permission="coordination.view_appevent",
                count=count_failed_compensations,
            ),
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
    home = Item(title=str(_("Start page")), icon="home", link=address, active=request.path == address, badge=0)
    groups = [Group(title=str(title), items=_allowed(request, entries)) for title, entries in MENU]
    _mark_active(request, [item for group in groups for item in group["items"]])
    return [Group(title="", items=[home]), *(group for group in groups if group["items"])]


def _allowed(request: HttpRequest, entries: tuple[MenuEntry, ...]) -> list[Item]:
    return [
        Item(
            title=str(entry.title),
            icon=entry.icon,
            link=reverse(entry.page),
            active=False,
            badge=entry.count() if entry.count else 0,
        )
        for entry in entries
        if request.user.has_perm(entry.permission)
    ]


def _mark_active(request: HttpRequest, items: list[Item]) -> None:
    """Mark the entry of the page that is shown; of a page below another one's address its own entry alone."""
    around = [item for item in items if request.path.startswith(item["link"])]
    if around:
        max(around, key=lambda item: len(item["link"]))["active"] = True
