"""The schedule of upkeep: its entries come from the product, staff decide when and whether they run."""

from typing import Any

from django import forms
from django.contrib import admin
from django.http import HttpRequest
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django_celery_beat.models import ClockedSchedule, CrontabSchedule, IntervalSchedule, PeriodicTask, SolarSchedule

from config.admin_base.theme import ModelAdmin, display

for _model in (ClockedSchedule, CrontabSchedule, IntervalSchedule, PeriodicTask, SolarSchedule):
    admin.site.unregister(_model)


class TimesField(forms.ModelChoiceField):  # type: ignore[type-arg]
    def label_from_instance(self, times: Any) -> str:
        return describe(times)


@admin.register(PeriodicTask)
class PeriodicTaskAdmin(ModelAdmin[Any]):
    list_display = ("name", "sentence", "enabled", "times", "last_run")
    list_select_related = ("crontab",)
    fields = ("title", "sentence", "enabled", "crontab", "last_run")
    readonly_fields = ("title", "sentence", "last_run")

    @display(description=_("name"))
    def title(self, task: Any) -> str:
        return str(task.name)

    @display(description=_("what it does"))
    def sentence(self, task: Any) -> str:
        # Loaded from the table of upkeep, whose sentences are translated like the program's own texts.
        return gettext(task.description)

    @display(description=_("when"))
    def times(self, task: Any) -> str:
        return describe(task.crontab) if task.crontab else "–"

    @display(description=_("last run"))
    def last_run(self, task: Any) -> Any:
        return task.last_run_at

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        if db_field.name == "enabled":
            kwargs |= {"label": _("Runs"), "help_text": ""}
        if db_field.name == "crontab":
            kwargs |= {"label": _("When"), "help_text": "", "form_class": TimesField}
        return super().formfield_for_dbfield(db_field, request, **kwargs)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


@admin.register(CrontabSchedule)
class CrontabScheduleAdmin(ModelAdmin[Any]):
    list_display = ("__str__", "words")
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
        return super().formfield_for_dbfield(db_field, request, help_text="", **kwargs)

    @display(description=_("when"))
    def words(self, times: Any) -> str:
        return describe(times)


def describe(times: Any) -> str:
    """Return in words when an entry runs, where it is hourly or daily; else its five cron fields."""
    fields = [times.minute, times.hour, times.day_of_month, times.month_of_year, times.day_of_week]
    zone = str(times.timezone)
    if fields[2:] != ["*", "*", "*"] or not times.minute.isdigit():
        return f"{' '.join(fields)} {zone}"
    if times.hour == "*":
        return gettext("every hour at minute %(minute)s") % {"minute": times.minute}
    if not times.hour.isdigit():
        return f"{' '.join(fields)} {zone}"
    return gettext("every day at %(time)s") % {"time": f"{int(times.hour):02}:{int(times.minute):02} {zone}"}
