from django.urls import path

from processes.exchange.api import operations, processes

urlpatterns = [
    path("exchange/processes/", processes.ProcessesView.as_view()),
    path("exchange/processes/<uuid:process_id>/", processes.ProcessView.as_view()),
    path("exchange/processes/<uuid:process_id>/accept/", processes.AcceptView.as_view()),
    path("exchange/processes/<uuid:process_id>/prepare/", processes.PrepareView.as_view()),
    path("exchange/processes/<uuid:process_id>/commit/", processes.CommitView.as_view()),
    path("exchange/processes/<uuid:process_id>/rollback/", processes.RollBackView.as_view()),
    path("exchange/processes/<uuid:process_id>/interrupt/", processes.InterruptView.as_view()),
    path("exchange/processes/<uuid:process_id>/abandon/", processes.AbandonView.as_view()),
    path("exchange/processes/<uuid:process_id>/resolve/", processes.ResolveView.as_view()),
    path("exchange/processes/<uuid:process_id>/end/", operations.EndView.as_view()),
]
