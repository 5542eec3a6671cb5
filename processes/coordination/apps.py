from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class CoordinationConfig(AppConfig):
    name = "processes.coordination"
    label = "coordination"
    verbose_name = _("Coordination")

    def ready(self) -> None:
        from django.conf import settings
        from django.db.models.signals import post_migrate

        from config.admin_base.search import Rank, SearchSource, register_search_source
        from config.audit.changes import register_change_listener, register_change_need
        from config.audit.explain import register_question
        from config.audit.trace import TraceSource, register_trace_source
        from config.common.background.work import BackgroundWork, register_work
        from config.common.database.sequences import register_shown
        from notifications.decisions import register_decision
        from notifications.event_titles import register_event_titles
        from processes.coordination import work_names
        from processes.coordination.explanation.answer import CHANGE_SET_QUESTION
        from processes.coordination.maintenance.watch import watch_once
        from processes.coordination.models import AppEvent, AppEventPayload
        from processes.coordination.models.writer import TABLES
        from processes.coordination.presentation import EVENT_TITLES
        from processes.coordination.schema.fixed_rows import ensure_fixed_rows
        from processes.coordination.search import find_change_sets
        from processes.coordination.trace import trace_events
        from processes.coordination.writer.compensation import ALERT, awaits_operator
        from processes.coordination.writer.registry import first_unread_change, record_registry_changes

        post_migrate.connect(ensure_fixed_rows, dispatch_uid="coordination.keep_rows")
        register_decision(ALERT, awaits_operator)
        register_event_titles(EVENT_TITLES)
        # Readers keep them in databases of their own: one that comes again would be taken for a repeat.
        register_shown(*(model._meta.label for model in (AppEvent, AppEventPayload, *TABLES.values())))
        register_change_listener(record_registry_changes)
        register_change_need(first_unread_change)
        register_question(CHANGE_SET_QUESTION)
        allowed = "coordination.view_appevent"
        register_trace_source(TraceSource(allowed, trace_events, ((allowed, AppEvent.objects.all()),)))
        register_search_source(SearchSource(_("Change sets"), "hub", allowed, Rank.WORK, find_change_sets))
        register_work(BackgroundWork(name=work_names.ABSENCES, run_once=watch_once, every=10.0))
        if settings.AMQP_URL:  # `run_coordination` does it; what is rung for is found by its next look
            register_work(BackgroundWork(name=work_names.WRITER, run_once=lambda: False, every=10.0))
        else:
            _run_beside_the_server()


def _run_beside_the_server() -> None:
    """Without a broker all roles live in the process of the server, and wake each other."""
    from config.common.background.ring import ring
    from config.common.background.work import BackgroundWork, register_work
    from processes.coordination import work_names
    from processes.coordination.bus.memory import bus
    from processes.coordination.coordinator.liveness import HEARTBEAT_EVERY
    from processes.coordination.roles import open_roles, role_names, send_heartbeats

    roles = open_roles(role_names())
    for role in roles:
        register_work(BackgroundWork(name=role.queue, run_once=role.run_once, every=1.0))
    register_work(
        BackgroundWork(
            name=work_names.ALIVE, run_once=lambda: send_heartbeats(bus, roles), every=HEARTBEAT_EVERY.total_seconds()
        )
    )
    bus.wake = ring
