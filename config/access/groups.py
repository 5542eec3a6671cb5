"""The staff groups and what each may do, written once; every `migrate` brings the groups in line with this table.

The groups are the product's: who needs other rights makes a group of their own. A rule speaks of every app, also of
those that are installed later.
"""

from dataclasses import dataclass
from typing import Any

from django.apps import AppConfig
from django.apps import apps as installed_apps
from django.apps.registry import Apps
from django.db import router, transaction
from django.db.models import QuerySet
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from config.access.scopes import Scope, permission

REGISTRY_APPS = frozenset({"sensors", "messaging"})
# Accounts, sessions and the framework's own tables are the administrator's alone.
FRAMEWORK_APPS = frozenset({"admin", "auth", "contenttypes", "sessions"})
# Beside them: keys, and tables that hold what callers sent and were answered.
PRIVATE_MODELS = frozenset({("records", "accesskey"), ("records", "idempotencyrecord"), ("records", "signinattempt")})


@dataclass(frozen=True)
class Rights:
    title: Promise
    """What people call the group; its name is for programs."""
    purpose: Promise
    scopes: frozenset[Scope] = frozenset()
    """What the group may do through REST, and by the actions of the admin that are the same thing."""
    edits: frozenset[str] = frozenset()
    """Apps whose objects the group may add, change and delete."""
    everything: bool = False

    def allow(self, app_label: str, model: str, codename: str) -> bool:
        if self.everything or (app_label == "records" and codename in {permission(scope) for scope in self.scopes}):
            return True
        if codename == f"view_{model}":
            return app_label not in FRAMEWORK_APPS and (app_label, model) not in PRIVATE_MODELS
        return app_label in self.edits and codename in {f"{verb}_{model}" for verb in ("add", "change", "delete")}


READS = frozenset({Scope.REGISTRY_READ, Scope.PARTIES_READ, Scope.HISTORY_READ, Scope.WORKFLOWS_READ})
OPERATES = frozenset({Scope.OPERATIONS, Scope.SESSIONS, Scope.WORKFLOWS_WRITE, Scope.SIGNALS_WRITE, Scope.COORDINATION})
REGISTERS = frozenset({Scope.REGISTRY_WRITE, Scope.PARTIES_WRITE})

GROUPS: dict[str, Rights] = {
    "viewer": Rights(_("viewer"), _("sees everything except keys and accounts, changes nothing"), scopes=READS),
    "operator": Rights(
        _("operator"), _("sees the same, and resolves incidents, resends, retries"), scopes=READS | OPERATES
    ),
    "registrar": Rights(
        _("registrar"),
        _("sees the same, and registers sensors, clients, devices and databases"),
        scopes=READS | REGISTERS,
        edits=REGISTRY_APPS,
    ),
    "administrator": Rights(_("administrator"), _("can do everything, including keys and accounts"), everything=True),
}


def group_title(name: str) -> str:
    """Return what people call a group; those that an organisation has made bear the name that they were given."""
    return str(GROUPS[name].title) if name in GROUPS else name


def sync_groups(*, app_config: AppConfig, using: str, apps: Apps = installed_apps, **kwargs: Any) -> None:
    """Set the rights of each group over one app, once the permissions of that app have been made."""
    try:
        group_model, permission_model = apps.get_model("auth", "Group"), apps.get_model("auth", "Permission")
    except LookupError:
        return
    if not router.allow_migrate_model(using, permission_model):
        return  # a database that holds no accounts
    permissions = permission_model.objects.using(using).filter(content_type__app_label=app_config.label)
    offered = list(permissions.values_list("pk", "content_type__model", "codename"))
    with transaction.atomic(using=using):
        rows = group_model.objects.using(using)
        found = dict(rows.filter(name__in=GROUPS).values_list("name", "pk"))
        # Two nodes may migrate at once: whoever comes second finds the group there.
        groups = {name: found.get(name) or rows.get_or_create(name=name)[0].pk for name in GROUPS}
        links_due = {
            (groups[name], pk)
            for name, rights in GROUPS.items()
            for pk, model, codename in offered
            if rights.allow(app_config.label, model, codename)
        }
        links = group_model.permissions.through.objects.using(using)
        _set_links(links.filter(group__in=groups.values(), permission__in=[pk for pk, *_ in offered]), links_due)


def _set_links(links: QuerySet[Any], links_due: set[tuple[int, int]]) -> None:
    """Add and delete links of groups to permissions until they are exactly those due."""
    present = {(group, permission): pk for pk, group, permission in links.values_list("pk", "group", "permission")}
    excess = [pk for pair, pk in present.items() if pair not in links_due]
    if excess:
        links.filter(pk__in=excess).delete()
    new = [links.model(group_id=group, permission_id=pk) for group, pk in sorted(links_due - present.keys())]
    links.bulk_create(new, ignore_conflicts=True)
