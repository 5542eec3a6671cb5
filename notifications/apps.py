from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _

from config.common.background.work import BackgroundWork, register_work


class NotificationsConfig(AppConfig):
    name = "notifications"
    verbose_name = _("Notifications")

    def ready(self) -> None:
        from config.audit.subjects import register_subject_names
        from config.common.encryption import register_encrypted
        from config.common.text_templates import register_detail
        from notifications.decisions import register_decision
        from notifications.event_titles import event_title, register_event_titles
        from notifications.followers import GATHER_SECONDS
        from notifications.names import find_pages
        from notifications.presentation import EVENT_TITLES
        from notifications.sending import send_once, stop_sending
        from notifications.services.alerts import ALERTS
        from notifications.services.deliveries import DELIVERIES
        from notifications.services.endpoints import RETURNS, requeue_missed_once
        from notifications.services.escalation import escalate_once
        from notifications.services.events import SEQUENCER
        from notifications.services.incidents import has_open_incidents, repeat_incident
        from notifications.services.parked_messages import has_parked_messages, is_stopped
        from notifications.services.poison import FULL, PARKED
        from notifications.services.relay import INCIDENT
        from notifications.services.sequencer import stamp_once
        from notifications.sessions.handlers import register_function, register_handlers_of_plugins
        from notifications.sessions.repeater import repeat_once, rest, stop_repeating
        from notifications.sessions.storage import SESSIONS
        from notifications.sessions.theme_health import EXHAUSTED, has_exhausted_sessions
        from notifications.sessions.themes import INCIDENT_HANDLER

        register_event_titles(EVENT_TITLES)
        register_detail("event", event_title)
        register_encrypted("notifications.Endpoint", "secret", "old_secret")
        register_encrypted("notifications.Theme", "secret", "old_secret")
        register_work(BackgroundWork(name=SEQUENCER, run_once=stamp_once, gather=GATHER_SECONDS))
        register_work(BackgroundWork(name=RETURNS, run_once=requeue_missed_once))
        register_work(
            BackgroundWork(name=DELIVERIES, run_once=send_once, every=1.0, on_workers=True, stop=stop_sending)
        )
        register_work(BackgroundWork(name=SESSIONS, run_once=repeat_once, rest=rest, stop=stop_repeating))
        register_work(BackgroundWork(name=ALERTS, run_once=escalate_once, every=1.0, on_workers=True))
        register_decision(EXHAUSTED, has_exhausted_sessions)
        register_decision(INCIDENT, has_open_incidents)
        register_decision(PARKED, has_parked_messages)
        register_decision(FULL, is_stopped)
        register_subject_names(find_pages)
        register_function(INCIDENT_HANDLER, repeat_incident)
        register_handlers_of_plugins()
        self._register_pages()

    def _register_pages(self) -> None:
        """Tell the trace and the search what there is, and who may see it."""
        from config.admin_base.search import Rank, SearchSource, register_search_source
        from config.audit.trace import TraceSource, register_trace_source
        from notifications.models import Alert, Delivery, Event, RepeatSession
        from notifications.search import find_alerts, find_deliveries, find_events, find_sessions
        from notifications.trace import trace_alerts, trace_deliveries, trace_events, trace_sessions

        kinds = ("event", "delivery", "repeatsession", "alert")
        event, delivery, session, alert = (f"notifications.view_{kind}" for kind in kinds)
        register_trace_source(TraceSource(event, trace_events, ((event, Event.objects.all()),)))
        register_trace_source(TraceSource(delivery, trace_deliveries, ((delivery, Delivery.objects.all()),)))
        register_trace_source(TraceSource(session, trace_sessions, ((session, RepeatSession.objects.all()),)))
        register_trace_source(TraceSource(alert, trace_alerts, ((alert, Alert.objects.all()),)))
        for title, icon, allowed, find in (
            (_("Deliveries"), "outgoing_mail", delivery, find_deliveries),
            (_("Events"), "bolt", event, find_events),
            (_("Alerts"), "notifications_active", alert, find_alerts),
            (_("Repeat sessions"), "replay", session, find_sessions),
        ):
            register_search_source(SearchSource(title, icon, allowed, Rank.NOTIFICATIONS, find))
