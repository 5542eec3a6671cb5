from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class WorkflowsConfig(AppConfig):
    name = "processes.workflows"
    label = "workflows"
    verbose_name = _("Workflows")

    def ready(self) -> None:
        from django.conf import settings

        from config.audit.trace import TraceSource, register_trace_source
        from config.common.background.work import BackgroundWork, register_work
        from notifications.decisions import register_decision
        from notifications.followers import follow
        from processes.workflows.services import work_names
        from processes.workflows.services.effects.dispatch import dispatch_due_effects
        from processes.workflows.services.events import amqp, follower
        from processes.workflows.services.events.amqp import EventConsumer
        from processes.workflows.services.events.arrivals import take_postponed_events
        from processes.workflows.services.incidents import ALERT, awaits_operator
        from processes.workflows.services.jobs import register_handlers_of_plugins, run_due_jobs
        from processes.workflows.services.timers import fire_due_timers, start_due_instances
        from processes.workflows.trace import trace_effects, trace_versions

        register_work(BackgroundWork(name=work_names.TIMERS, run_once=fire_due_timers, every=1.0))
        register_work(BackgroundWork(name=work_names.STARTS, run_once=start_due_instances, every=1.0))
        register_work(BackgroundWork(name=work_names.JOBS, run_once=run_due_jobs, every=2.0, on_workers=True))
        register_work(
            BackgroundWork(name=work_names.EFFECTS, run_once=dispatch_due_effects, every=2.0, on_workers=True)
        )
        register_work(BackgroundWork(name=work_names.POSTPONED, run_once=take_postponed_events, every=5.0))
        register_handlers_of_plugins()
        register_trace_source(TraceSource("workflows.view_workflowversion", trace_versions))
        register_trace_source(TraceSource("workflows.view_workfloweffect", trace_effects))
        register_decision(ALERT, awaits_operator)
        follow(follower.FOLLOWING)
        if settings.AMQP_URL:
            register_work(BackgroundWork(name=work_names.INCOMING, run_once=EventConsumer().consume_once, every=0.5))
            follow(amqp.PUBLISHER)
