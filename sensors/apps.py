from django.apps import AppConfig
from django.conf import settings
from django.utils.translation import gettext_lazy as _

from config.common.background.work import BackgroundWork, register_work


class SensorsConfig(AppConfig):
    name = "sensors"
    verbose_name = _("Sensors")

    def ready(self) -> None:
        from config.admin_base.search import Rank, SearchSource, register_search_source
        from config.audit.explain import register_question
        from config.audit.statistics import register_statistics
        from config.audit.trace import TraceSource, register_trace_source
        from notifications.event_titles import register_event_titles
        from notifications.followers import follow
        from notifications.sending.relevance import register_relevance_check
        from sensors.explanation.answer import CLIENT_QUESTION, DELIVERY_QUESTION
        from sensors.heartbeat.flap_detection import close_calm_alerts_once
        from sensors.heartbeat.ingest_liveness import INTERVAL_SECONDS, check_queue_once
        from sensors.heartbeat.left_open import report_left_open_once
        from sensors.heartbeat.sweep import sweep_once
        from sensors.heartbeat.withheld_losses import UNMUTED, publish_unmuted_losses_once
        from sensors.history.follower import FOLLOWING
        from sensors.history.spool import drain_spool_once
        from sensors.ingest.rejections import check_rejection_rate_once
        from sensors.models import RejectedSignal
        from sensors.presentation import EVENT_TITLES
        from sensors.search import find_clients, find_sensors
        from sensors.services import clients, sensors  # noqa: F401 (they say what the change log keeps of each)
        from sensors.services.cancellation import find_cancel_reasons
        from sensors.statistics import count_by_client
        from sensors.trace import trace_rejections, trace_signals

        register_work(BackgroundWork(name="heartbeat", run_once=sweep_once, every=1.0))
        register_work(BackgroundWork(name=UNMUTED, run_once=publish_unmuted_losses_once, every=2.0))
        register_work(BackgroundWork(name="heartbeat.left_open", run_once=report_left_open_once, every=2.0))
        register_work(BackgroundWork(name="alerts.flapping", run_once=close_calm_alerts_once, every=10.0))
        register_work(BackgroundWork(name="alerts.rejected", run_once=check_rejection_rate_once, every=10.0))
        follow(FOLLOWING)
        register_event_titles(EVENT_TITLES)
        register_relevance_check(find_cancel_reasons)
        register_statistics("client", count_by_client)
        register_question(CLIENT_QUESTION)
        register_question(DELIVERY_QUESTION)
        register_trace_source(TraceSource("sensors.view_sensor", trace_signals))
        register_trace_source(
            TraceSource(
                "sensors.view_rejectedsignal",
                trace_rejections,
                (("sensors.view_rejectedsignal", RejectedSignal.objects.all()),),
            )
        )
        register_search_source(
            SearchSource(_("Sensors"), "sensor_door", "sensors.view_sensor", Rank.REGISTRY, find_sensors)
        )
        register_search_source(
            SearchSource(_("Clients"), "contacts", "sensors.view_client", Rank.REGISTRY, find_clients)
        )
        if settings.AMQP_URL:  # without a broker the web process alone knows whether it is called
            register_work(BackgroundWork(name="hearing", run_once=check_queue_once, every=INTERVAL_SECONDS))
        if not settings.AMQP_URL:  # with a broker `run_history` does it
            register_work(
                BackgroundWork(name="history.spool", run_once=drain_spool_once, every=settings.HISTORY_SECONDS)
            )
