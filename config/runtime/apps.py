from django.apps import AppConfig
from django.conf import settings
from django.utils.translation import gettext_lazy as _

from config.common.background.work import BackgroundWork, register_work


class RuntimeConfig(AppConfig):
    name = "config.runtime"
    label = "runtime"
    verbose_name = _("Runtime")

    def ready(self) -> None:
        import config.celery  # noqa: F401  (makes it the app that every thread finds)
        from config.common.background.supervision import set_failure_reporter
        from config.runtime.alerts.engines import check_engines
        from config.runtime.alerts.storage import EVERY_SECONDS, check_storage
        from config.runtime.alerts.subject_names import register_node_names
        from config.runtime.alerts.threads import close_recovered_threads, raise_thread_alert
        from config.runtime.heartbeat import beat_beside_every_command
        from config.runtime.restore_detection import EVERY_SECONDS as NUMBERS_SECONDS
        from config.runtime.restore_detection import save_issued_numbers
        from config.runtime.upkeep import run_next_due

        register_work(BackgroundWork(name="alerts.engines", run_once=check_engines, every=5.0))
        register_work(BackgroundWork(name="alerts.storage", run_once=check_storage, every=EVERY_SECONDS))
        register_work(BackgroundWork(name="alerts.threads", run_once=close_recovered_threads, every=10.0))
        register_work(BackgroundWork(name="numbers", run_once=save_issued_numbers, every=NUMBERS_SECONDS))
        set_failure_reporter(raise_thread_alert)
        register_node_names()
        beat_beside_every_command()
        if not settings.AMQP_URL:
            # With a broker there is beat, which starts the upkeep on the workers.
            register_work(BackgroundWork(name="upkeep", run_once=run_next_due, every=10.0))
