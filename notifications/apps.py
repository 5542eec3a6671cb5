from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _

from config.common.work import Work, register_work


class NotificationsConfig(AppConfig):
    name = "notifications"
    verbose_name = _("Notifications")

    def ready(self) -> None:
        from notifications.services.events import SEQUENCER
        from notifications.services.sequencer import stamp_once

        register_work(Work(name=SEQUENCER, run_once=stamp_once))
