from django.contrib import admin
from django.db.models import F, QuerySet, Subquery
from django.db.models.functions import Coalesce, Greatest
from django.http import HttpRequest
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from config.admin_base.pages import ReadOnlyAdmin, badge
from config.admin_base.theme import display
from notifications.models import Follower, Sequencer


@admin.register(Follower)
class FollowerAdmin(ReadOnlyAdmin[Follower]):
    list_display = ("name", "state", "lag", "position", "failures", "last_error")
    sortable_by = ()
    fields = ("name", "state", "lag", "position", "failures", "last_error", "due_at")

    @display(description=_("state"))
    def state(self, follower: Follower) -> SafeString:
        if follower.failures:
            return badge(gettext("failing"), "danger")
        return badge(gettext("reading"), "info") if self.lag(follower) else badge(gettext("up to date"), "success")

    @display(description=_("events behind"))
    def lag(self, follower: Follower) -> int:
        return int(getattr(follower, "events_behind", 0))

    def get_queryset(self, request: HttpRequest) -> QuerySet[Follower]:
        last = Coalesce(Subquery(Sequencer.objects.filter(pk=1).values("position")[:1]), 0)
        return super().get_queryset(request).annotate(events_behind=Greatest(last - F("position"), 0))
