from django.apps import AppConfig
from django.conf import settings
from django.utils.translation import gettext_lazy as _

from config.common.background.work import BackgroundWork, register_work


class SensorsConfig(AppConfig):
    name = "sensors"
    verbose_name = _("Sensors")

    def ready(self) -> None:
        from config.audit.statistics import register_statistics
        from notifications.followers import follow
        from notifications.sending.relevance import register_relevance_check
        from sensors.heartbeat.flap_detection import close_calm_alerts_once
        from sensors.heartbeat.ingest_liveness import INTERVAL_SECONDS, check_queue_once
        from sensors.heartbeat.sweep import sweep_once
        from sensors.heartbeat.withheld_losses import UNMUTED, publish_unmuted_losses_once
        from sensors.history.follower import FOLLOWING
        from sensors.history.spool import drain_spool_once
        from sensors.ingest.rejections import check_rejection_rate_once
        from sensors.services import clients, sensors  # noqa: F401 (they say what the change log keeps of each)
        from sensors.services.cancellation import find_cancel_reasons
        from sensors.statistics import count_by_client

        register_work(BackgroundWork(name="heartbeat", run_once=sweep_once, every=1.0))
        register_work(BackgroundWork(name=UNMUTED, run_once=publish_unmuted_losses_once, every=2.0))
        register_work(BackgroundWork(name="alerts.flapping", run_once=close_calm_alerts_once, every=10.0))
        register_work(BackgroundWork(name="alerts.rejected", run_once=check_rejection_rate_once, every=10.0))
        follow(FOLLOWING)
        register_relevance_check(find_cancel_reasons)
        register_statistics("client", count_by_client)
        if settings.AMQP_URL:  # without a broker the web process alone knows whether it is called
            register_work(BackgroundWork(name="hearing", run_once=check_queue_once, every=INTERVAL_SECONDS))
        if not settings.AMQP_URL:  # with a broker `run_history` does it
            register_work(
                BackgroundWork(name="history.spool", run_once=drain_spool_once, every=settings.HISTORY_SECONDS)
            )
