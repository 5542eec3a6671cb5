from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class ExchangeConfig(AppConfig):
    name = "processes.exchange"
    label = "exchange"
    verbose_name = _("Exchange")

    def ready(self) -> None:
        from config.admin_base.search import Rank, SearchSource, register_search_source
        from config.audit.explain import register_question
        from config.audit.statistics import register_statistics
        from config.audit.trace import TraceSource, register_trace_source
        from config.common.background.work import BackgroundWork, register_work
        from config.common.text_templates import register_detail
        from notifications.decisions import register_decision
        from notifications.event_titles import register_event_titles
        from processes.exchange.explanation.answer import MESSAGE_QUESTION
        from processes.exchange.models import ExchangeProcess
        from processes.exchange.presentation import EVENT_TITLES, say_result
        from processes.exchange.search import find_processes
        from processes.exchange.selectors import awaits_operator
        from processes.exchange.services.cleanup import move_files_once
        from processes.exchange.services.processes import FAILED, IN_DOUBT
        from processes.exchange.services.settlement import MOVES
        from processes.exchange.services.timeouts import time_out_once
        from processes.exchange.statistics import PARTIES, counter_by
        from processes.exchange.trace import trace_processes

        register_work(BackgroundWork(name=MOVES, run_once=move_files_once, every=5.0, on_workers=True))
        register_work(BackgroundWork(name="exchange.timeouts", run_once=time_out_once, every=2.0))
        register_event_titles(EVENT_TITLES)
        register_detail("result", say_result)
        register_question(MESSAGE_QUESTION)
        allowed = "exchange.view_exchangeprocess"
        register_trace_source(TraceSource(allowed, trace_processes, ((allowed, ExchangeProcess.objects.all()),)))
        register_search_source(SearchSource(_("Exchange processes"), "sync_alt", allowed, Rank.WORK, find_processes))
        for kind in (IN_DOUBT, FAILED):
            register_decision(kind, awaits_operator)
        for by in PARTIES:
            register_statistics(by, counter_by(by))
