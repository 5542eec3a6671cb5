"""The schedule of upkeep: its entries come from the product, staff decide when and whether they run."""

from typing import Any

from django import forms
from django.contrib import admin
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext, pgettext_lazy
from django.utils.translation import gettext_lazy as _
from django_celery_beat.models import ClockedSchedule, CrontabSchedule, IntervalSchedule, PeriodicTask, SolarSchedule

from config.admin_base.cron_words import cron_fields, describe
from config.admin_base.lists import ListAdmin
from config.admin_base.pages import active_badge
from config.admin_base.theme import display
from config.admin_base.times import time_element

# The theme titles the pages by these; the menu says the same.
PeriodicTask._meta.verbose_name, PeriodicTask._meta.verbose_name_plural = _("scheduled task"), _("schedule")
CrontabSchedule._meta.verbose_name, CrontabSchedule._meta.verbose_name_plural = _("run time"), _("run times")
CRON_LABELS = {
    "minute": _("Minutes"),
    "hour": _("Hours"),
    "day_of_month": _("Days of the month"),
    "month_of_year": _("Months"),
    "day_of_week": _("Days of the week"),
    "timezone": _("Time zone"),
}

for _model in (ClockedSchedule, CrontabSchedule, IntervalSchedule, PeriodicTask, SolarSchedule):
    admin.site.unregister(_model)


class TimesField(forms.ModelChoiceField):  # type: ignore[type-arg]
    def label_from_instance(self, times: Any) -> str:
        return describe(times)


@admin.register(PeriodicTask)
class PeriodicTaskAdmin(ListAdmin[Any]):
    list_display = ("sentence", "runs", "times", "last_run")
    list_select_related = ("crontab",)
    fields = ("sentence", "title", "enabled", "crontab", "last_run")
    readonly_fields = ("sentence", "title", "last_run")

    @display(description=_("name"))
    def title(self, task: Any) -> str:
        return str(task.name)

    @display(description=_("what it does"))
    def sentence(self, task: Any) -> SafeString:
        # Loaded from the table of upkeep, whose sentences are translated like the program's own texts.
        words = gettext(task.description) if task.description else task.name
        return format_html('<span title="{}">{}</span>', task.name, words)

    @display(description=pgettext_lazy("task", "runs"), ordering="enabled")
    def runs(self, task: Any) -> SafeString:
        return active_badge(task.enabled)

    @display(description=_("when"))
    def times(self, task: Any) -> str:
        return describe(task.crontab) if task.crontab else "–"

    @display(description=_("last run"), ordering="last_run_at")
    def last_run(self, task: Any) -> SafeString:
        return time_element(task.last_run_at)

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        if db_field.name == "enabled":
            kwargs |= {"label": _("Enabled"), "help_text": ""}
        if db_field.name == "crontab":
            kwargs |= {"label": _("When"), "help_text": "", "form_class": TimesField}
        return super().formfield_for_dbfield(db_field, request, **kwargs)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


@admin.register(CrontabSchedule)
class CrontabScheduleAdmin(ListAdmin[Any]):
    list_display = ("words", "cron")
    ordering = ("hour", "minute", "id")
    fieldsets = (
        (
            None,
            {
                "fields": ("minute", "hour", "day_of_month", "month_of_year", "day_of_week", "timezone"),
                "description": _("As in cron: * is every, 1,13 is a list, */5 is every fifth."),
            },
        ),
    )

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        return super().formfield_for_dbfield(
            db_field, request, help_text="", label=CRON_LABELS.get(db_field.name), **kwargs
        )

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """A time that a task runs at would take the task with it, which nobody may delete."""
        is_used = obj is not None and PeriodicTask.objects.filter(crontab=obj).exists()
        return not is_used and super().has_delete_permission(request, obj)

    @display(description=_("when"))
    def words(self, times: Any) -> str:
        return describe(times)

    @display(description=_("as in cron"))
    def cron(self, times: Any) -> SafeString:
        return format_html("<code>{}</code>", " ".join(cron_fields(times)))
