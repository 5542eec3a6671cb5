from django.apps import AppConfig
from django.conf import settings
from django.utils.translation import gettext_lazy as _

from config.common.work import Work, register_work


class SensorsConfig(AppConfig):
    name = "sensors"
    verbose_name = _("Sensors")

    def ready(self) -> None:
        from notifications.followers import follow
        from sensors.heartbeat.hearing import listen_once
        from sensors.heartbeat.sweep import sweep_once
        from sensors.history.follower import FOLLOWING
        from sensors.history.spool import drain_spool_once
        from sensors.services import clients, sensors  # noqa: F401 (they say what the change log keeps of each)

        register_work(Work(name="hearing", run_once=listen_once, every=2.0))
        register_work(Work(name="heartbeat", run_once=sweep_once, every=1.0))
        follow(FOLLOWING)
        if not settings.AMQP_URL:  # with a broker `run_history` does it
            register_work(Work(name="history.spool", run_once=drain_spool_once, every=settings.HISTORY_SECONDS))
