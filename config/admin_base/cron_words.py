"""When an entry of the schedule runs, in words."""

from typing import Any

from django.utils.translation import gettext


def describe(times: Any) -> str:
    """Return in words when an entry runs, where it is hourly or daily; else its five cron fields."""
    fields, zone = cron_fields(times), str(times.timezone)
    if fields[2:] != ["*", "*", "*"] or not times.minute.isdigit():
        return f"{' '.join(fields)} {zone}"
    if times.hour == "*":
        return gettext("every hour at minute %(minute)s") % {"minute": times.minute}
    if not times.hour.isdigit():
        return f"{' '.join(fields)} {zone}"
    return gettext("every day at %(time)s") % {"time": f"{int(times.hour):02}:{int(times.minute):02} {zone}"}


def cron_fields(times: Any) -> list[str]:
    return [times.minute, times.hour, times.day_of_month, times.month_of_year, times.day_of_week]
