from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class MessagingConfig(AppConfig):
    name = "messaging"
    verbose_name = _("Messaging")

    def ready(self) -> None:
        from config.admin_base.search import Rank, SearchSource, register_search_source
        from config.audit.trace import TraceSource, register_trace_source
        from config.common.background.work import BackgroundWork, register_work
        from messaging import search
        from messaging.models import Message
        from messaging.presentation import EVENT_TITLES
        from messaging.services import databases, devices, enterprises, subsystems  # noqa: F401 (tracked by the log)
        from messaging.services.file_moves import MOVES, move_pending_once
        from messaging.trace import trace_messages
        from notifications.event_titles import register_event_titles

        register_work(BackgroundWork(name=MOVES, run_once=move_pending_once, every=5.0, on_workers=True))
        register_event_titles(EVENT_TITLES)
        register_trace_source(
            TraceSource("messaging.view_message", trace_messages, (("messaging.view_message", Message.objects.all()),))
        )
        for title, icon, name, rank, find in (
            (_("Devices"), "smartphone", "device", Rank.REGISTRY, search.find_devices),
            (_("Databases"), "database", "exchangedatabase", Rank.REGISTRY, search.find_databases),
            (_("Enterprises"), "domain", "enterprise", Rank.REGISTRY, search.find_enterprises),
            (_("Subsystems"), "apps", "subsystem", Rank.REGISTRY, search.find_subsystems),
            (_("Messages"), "mail", "message", Rank.WORK, search.find_messages),
        ):
            register_search_source(SearchSource(title, icon, f"messaging.view_{name}", rank, find))
