from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class DashboardConfig(AppConfig):
    name = "config.dashboard"
    label = "dashboard"
    verbose_name = _("Dashboard")

    def ready(self) -> None:
        from notifications.counted_types import count_by_minute
        from notifications.sending.outcomes import ATTEMPTED
        from sensors.events import STATE_CHANGED

        # The charts of the live page.
        count_by_minute(STATE_CHANGED, ATTEMPTED)
