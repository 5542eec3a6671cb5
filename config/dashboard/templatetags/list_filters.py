"""The filters of the list that a page was opened from, for the link back to it."""

from django import template
from django.template import RequestContext

register = template.Library()


@register.simple_tag(takes_context=True)
def kept_filters(context: RequestContext) -> str:
    """Return the query string of the list, with its question mark; empty where it had no filters."""
    filters = context["request"].GET.get("_changelist_filters", "")
    return f"?{filters}" if filters else ""
