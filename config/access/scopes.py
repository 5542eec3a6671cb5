"""What a service key may be allowed to do; staff have the same by the permission of the same name."""

from django.db import models
from django.utils.translation import gettext_lazy as _


class Scope(models.TextChoices):
    REGISTRY_READ = "registry:read", _("read the registry")
    REGISTRY_WRITE = "registry:write", _("change the registry")
    PARTIES_READ = "parties:read", _("read enterprises, devices and databases")
    PARTIES_WRITE = "parties:write", _("change enterprises, devices and databases")
    SIGNALS_WRITE = "signals:write", _("send signals")
    HISTORY_READ = "history:read", _("read history, events and deliveries")
    WORKFLOWS_READ = "workflows:read", _("read workflows")
    WORKFLOWS_WRITE = "workflows:write", _("change workflows")
    SESSIONS = "sessions", _("use repeat sessions")
    COORDINATION = "coordination", _("use coordination")
    OPERATIONS = "operations", _("operate: alerts, resends, traces, metrics")


def permission(scope: str) -> str:
    """Return the codename of the staff permission that equals a scope."""
    return "scope_" + scope.replace(":", "_")
