from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class MessagingConfig(AppConfig):
    name = "messaging"
    verbose_name = _("Messaging")

    def ready(self) -> None:
        from config.audit.trace import TraceSource, register_trace_source
        from config.common.background.work import BackgroundWork, register_work
        from messaging.services import databases, devices, enterprises, subsystems  # noqa: F401 (tracked by the log)
        from messaging.services.file_moves import MOVES, move_pending_once
        from messaging.trace import trace_messages

        register_work(BackgroundWork(name=MOVES, run_once=move_pending_once, every=5.0, on_workers=True))
        register_trace_source(TraceSource("messaging.view_message", trace_messages))
