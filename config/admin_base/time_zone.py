"""The viewer's time zone: the browser's at first, then the one that the person has chosen, kept with the account."""

from functools import cache
from urllib.parse import unquote
from zoneinfo import ZoneInfo, available_timezones

from django import forms
from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.deprecation import MiddlewareMixin
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldAdminSelectWidget

from config.common.web.middleware import ADMIN
from config.records.models import UserSettings

COOKIE = "time_zone"
"""Set by `page.js`: the zone that the browser runs in."""


class TimeZoneMiddleware(MiddlewareMixin):
    """Show the times of the admin in the viewer's zone; REST speaks UTC, whoever asks."""

    def process_request(self, request: HttpRequest) -> None:
        if request.path.startswith(ADMIN):
            timezone.activate(find_zone(request))

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        # The thread serves others after this one.
        timezone.deactivate()
        return response


def find_zone(request: HttpRequest) -> ZoneInfo:
    """Return the zone of whoever asks; the first one that a browser names becomes theirs."""
    named = unquote(request.COOKIES.get(COOKIE, ""))[:64]
    from_browser = named if named in zone_names() else ""
    if not request.user.is_authenticated:
        return ZoneInfo(from_browser or "UTC")
    kept = UserSettings.objects.filter(user=request.user).values_list("time_zone", flat=True).first()
    if kept is None and from_browser:
        kept = UserSettings.objects.get_or_create(user=request.user, defaults={"time_zone": from_browser})[0].time_zone
    return ZoneInfo(kept if kept in zone_names() else "UTC")


@cache
def zone_names() -> frozenset[str]:
    """Return the zones that this machine knows, by name."""
    return frozenset(available_timezones())


class TimeZoneForm(forms.Form):
    time_zone = forms.ChoiceField(
        label=_("Time zone"),
        choices=lambda: [(name, name.replace("_", " ")) for name in sorted(zone_names())],
        help_text=_("Times on pages are shown in this zone; hover over one to see it in UTC. The API always uses UTC."),
        widget=UnfoldAdminSelectWidget,
    )


def time_zone_view(request: HttpRequest) -> HttpResponse:
    """Let a person choose the zone in which they see times."""
    form = TimeZoneForm(request.POST or None, initial={"time_zone": timezone.get_current_timezone_name()})
    if request.method == "POST" and form.is_valid() and request.user.pk is not None:
        UserSettings.objects.update_or_create(
            user_id=request.user.pk, defaults={"time_zone": form.cleaned_data["time_zone"]}
        )
        messages.success(request, gettext("Times are now shown in your time zone."))
        return HttpResponseRedirect(reverse("time-zone"))
    context = {
        **admin.site.each_context(request),
        "title": gettext("Time zone"),
        "form": form,
        "media": form.media,
        "now": timezone.now(),
    }
    return TemplateResponse(request, "admin_base/time_zone.html", context)
