"""What a page is called: in its heading and on the tab of the browser."""

from typing import Any

from django import template
from django.contrib.auth.models import Group
from django.template import RequestContext
from django.utils.text import capfirst
from django.utils.translation import gettext, pgettext
from django_celery_beat.models import CrontabSchedule, PeriodicTask

from config.access.groups import group_title
from config.admin_base.cron_words import describe
from config.admin_base.times import format_local
from notifications.models import Delivery, Event, Incident, RepeatSession
from notifications.names import say_row
from processes.coordination.models import AppEvent
from processes.exchange.models import ExchangeProcess
from processes.workflows.models import WorkflowInstance
from processes.workflows.subjects import say_record
from sensors.models import RejectedSignal
from sensors.presentation import say_rejection

register = template.Library()


@register.filter
def page_title(title: Any) -> Any:
    """Return the title of a page, which may be the row that it is about; a row is put into words once."""
    if not hasattr(title, "_meta"):
        return title
    if not hasattr(title, "title_in_words"):
        title.title_in_words = _say(title)
    return title.title_in_words


@register.simple_tag(takes_context=True)
def tab_title(context: RequestContext) -> str:
    """Return what the tab says: the page, then the list it belongs to; what the framework would say is no Russian."""
    opts, rows, title = context.get("opts"), context.get("cl"), context.get("title") or ""
    listed = str(capfirst(opts.verbose_name_plural)) if opts else ""
    if rows is not None:
        parts = [listed if title == rows.title else title]
    elif context.get("add"):
        parts = [pgettext("page", "Add"), listed]
    elif context.get("subtitle") and hasattr(context.get("original"), "_meta"):
        parts = [page_title(context["original"]), listed]
    else:
        parts = [title, listed]
    return " | ".join(dict.fromkeys(str(part) for part in (*parts, context.get("site_title", "")) if part))


@register.simple_tag(takes_context=True)
def last_crumb(context: RequestContext) -> str:
    """Return what follows the name of the list in a heading: the page, where it is neither the list nor about a row."""
    if not context.get("opts") or context.get("cl") is not None or context.get("original") or context.get("object"):
        return ""
    return pgettext("page", "Add") if context.get("add") else str(context.get("title") or "")


def _say(row: Any) -> str:
    match row:
        case Event() | Delivery() | Incident():
            return say_row(row)
        case WorkflowInstance():
            return f"{row.definition} · {say_record(row.record) or row.pk}"
        case ExchangeProcess():
            return f"{row.database} · {format_local(row.started_at)}"
        case RepeatSession():
            return gettext("Session %(number)s of theme %(theme)s") % {"number": row.pk, "theme": row.theme_id}
        case AppEvent():
            return gettext("Change set %(number)s") % {"number": row.pk}
        case RejectedSignal():
            return " · ".join(filter(None, [say_rejection(row.code), row.sensor_id]))
        case PeriodicTask():
            return gettext(row.description) if row.description else str(row.name)
        case CrontabSchedule():
            return describe(row)
        case Group():
            return group_title(row.name)
    return str(row)
