from django.apps import AppConfig
from django.conf import settings
from django.utils.translation import gettext_lazy as _

from config.common.work import Work, register_work


class RuntimeConfig(AppConfig):
    name = "config.runtime"
    label = "runtime"
    verbose_name = _("Runtime")

    def ready(self) -> None:
        import config.celery  # noqa: F401  (makes it the app that every thread finds)
        from config.common.supervision import report_failures
        from config.runtime.outages import look_for_outages
        from config.runtime.restored import EVERY_SECONDS as NUMBERS_SECONDS
        from config.runtime.restored import keep_numbers
        from config.runtime.storage import EVERY_SECONDS, look_at_storage
        from config.runtime.thread_alerts import close_recovered, report_failing
        from config.runtime.upkeep import run_next_due

        register_work(Work(name="alerts.engines", run_once=look_for_outages, every=5.0))
        register_work(Work(name="alerts.storage", run_once=look_at_storage, every=EVERY_SECONDS))
        register_work(Work(name="alerts.threads", run_once=close_recovered, every=10.0))
        register_work(Work(name="numbers", run_once=keep_numbers, every=NUMBERS_SECONDS))
        report_failures(report_failing)
        if not settings.AMQP_URL:
            # With a broker there is beat, which starts the upkeep on the workers.
            register_work(Work(name="upkeep", run_once=run_next_due, every=10.0))
