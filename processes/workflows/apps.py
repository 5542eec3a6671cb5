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
        from processes.workflows.services import events, outgoing, works
        from processes.workflows.services.effects import leave_once
        from processes.workflows.services.incidents import ALERT, awaits_operator
        from processes.workflows.services.incoming import Incoming
        from processes.workflows.services.jobs import register_handlers_of_plugins, run_jobs_once
        from processes.workflows.services.postponed import take_postponed_once
        from processes.workflows.services.start_timers import start_due_once
        from processes.workflows.services.timing import fire_due_once
        from processes.workflows.tracing import trace_effects, trace_versions

        register_work(BackgroundWork(name=works.TIMERS, run_once=fire_due_once, every=1.0))
        register_work(BackgroundWork(name=works.STARTS, run_once=start_due_once, every=1.0))
        register_work(BackgroundWork(name=works.JOBS, run_once=run_jobs_once, every=2.0, on_workers=True))
        register_work(BackgroundWork(name=works.EFFECTS, run_once=leave_once, every=2.0, on_workers=True))
        register_work(BackgroundWork(name=works.POSTPONED, run_once=take_postponed_once, every=5.0))
        register_handlers_of_plugins()
        register_trace_source(TraceSource("workflows.view_workflowversion", trace_versions))
        register_trace_source(TraceSource("workflows.view_workfloweffect", trace_effects))
        register_decision(ALERT, awaits_operator)
        follow(events.FOLLOWING)
        if settings.AMQP_URL:
            register_work(BackgroundWork(name=works.INCOMING, run_once=Incoming().take_once, every=0.5))
            follow(outgoing.FOLLOWING)
