"""A notice for every page about alerts: nobody would be told of one."""

from typing import Any

from django import template
from django.template import RequestContext
from django.urls import reverse

from notifications.recipients import find_reach

register = template.Library()


@register.inclusion_tag("dashboard/alert_reach.html", takes_context=True)
def alert_reach_notice(context: RequestContext) -> dict[str, Any]:
    """Show why no alert would reach anybody, to those who may see the escalation; else nothing."""
    user = context["request"].user
    if not user.has_perm("notifications.view_rung"):
        return {"reach": None}
    escalation = reverse("admin:notifications_rung_changelist")
    return {
        "reach": find_reach(),
        "may_change": user.has_perm("notifications.change_rung"),
        # On the page of the escalation itself there is nowhere to lead to.
        "escalation": "" if context["request"].path == escalation else escalation,
    }
