from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class WorkflowsConfig(AppConfig):
    name = "processes.workflows"
    label = "workflows"
    verbose_name = _("Workflows")

    def ready(self) -> None:
        from django.conf import settings

        from config.access.scopes import Scope, permission
        from config.admin_base.search import Rank, SearchSource, register_search_source
        from config.audit.explain import register_question
        from config.audit.trace import TraceSource, register_trace_source
        from config.common.background.work import BackgroundWork, register_work
        from config.common.text_templates import register_detail
        from notifications.decisions import register_decision
        from notifications.event_titles import register_event_titles
        from notifications.followers import follow
        from processes.workflows.explanation.answer import INSTANCE_QUESTION, TASK_QUESTION
        from processes.workflows.models import WorkflowEffect, WorkflowVersion
        from processes.workflows.presentation import EVENT_TITLES
        from processes.workflows.reasons import translate_reason
        from processes.workflows.search import find_definitions, find_instances
        from processes.workflows.services import work_names
        from processes.workflows.services.events import amqp, follower
        from processes.workflows.services.events.amqp import EventConsumer
        from processes.workflows.services.incidents import ALERT, awaits_operator
        from processes.workflows.services.jobs import register_handlers_of_plugins
        from processes.workflows.subjects import say_record
        from processes.workflows.trace import trace_effects, trace_versions

        self._register_work()
        register_handlers_of_plugins()
        register_question(INSTANCE_QUESTION)
        register_question(TASK_QUESTION)
        version, effect = "workflows.view_workflowversion", "workflows.view_workfloweffect"
        register_trace_source(TraceSource(version, trace_versions, ((version, WorkflowVersion.objects.all()),)))
        register_trace_source(TraceSource(effect, trace_effects, ((effect, WorkflowEffect.objects.all()),)))
        may_read = f"records.{permission(Scope.WORKFLOWS_READ)}"
        register_search_source(
            SearchSource(_("Workflow instances"), "account_tree", may_read, Rank.WORK, find_instances)
        )
        register_search_source(SearchSource(_("Workflow definitions"), "schema", may_read, Rank.WORK, find_definitions))
        register_decision(ALERT, awaits_operator)
        register_event_titles(EVENT_TITLES)
        register_detail("cause", translate_reason)
        register_detail("record", say_record)
        follow(follower.FOLLOWING)
        if settings.AMQP_URL:
            register_work(BackgroundWork(name=work_names.INCOMING, run_once=EventConsumer().consume_once, every=0.5))
            follow(amqp.PUBLISHER)

    def _register_work(self) -> None:
        from config.common.background.work import BackgroundWork, register_work
        from processes.workflows.services import work_names
        from processes.workflows.services.batches.run import run_due_batches
        from processes.workflows.services.effects.dispatch import dispatch_due_effects
        from processes.workflows.services.events.arrivals import take_postponed_events
        from processes.workflows.services.jobs import run_due_jobs
        from processes.workflows.services.shadow.follow import follow_shadows
        from processes.workflows.services.task_notices import send_due_notices
        from processes.workflows.services.timers import fire_due_timers, start_due_instances
        from processes.workflows.visits.fold import fold_visits

        register_work(BackgroundWork(name=work_names.TIMERS, run_once=fire_due_timers, every=1.0))
        register_work(BackgroundWork(name=work_names.STARTS, run_once=start_due_instances, every=1.0))
        register_work(BackgroundWork(name=work_names.JOBS, run_once=run_due_jobs, every=2.0, on_workers=True))
        register_work(
            BackgroundWork(name=work_names.EFFECTS, run_once=dispatch_due_effects, every=2.0, on_workers=True)
        )
        register_work(BackgroundWork(name=work_names.POSTPONED, run_once=take_postponed_events, every=5.0))
        register_work(BackgroundWork(name=work_names.NOTICES, run_once=send_due_notices, every=5.0, on_workers=True))
        register_work(BackgroundWork(name=work_names.VISITS, run_once=fold_visits, every=3.0))
        register_work(BackgroundWork(name=work_names.BATCHES, run_once=run_due_batches, every=2.0, on_workers=True))
        register_work(BackgroundWork(name=work_names.SHADOWS, run_once=follow_shadows, every=2.0, gather=1.0))
