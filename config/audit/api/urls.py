from django.urls import path

from config.audit.api.changes import RevertView
from config.audit.api.explain import ExplainView
from config.audit.api.log import LogView
from config.audit.api.statistics import StatisticsView
from config.audit.api.trace import TraceView

urlpatterns = [
    path("changes/<int:change_id>/revert/", RevertView.as_view(), name="change-revert"),
    path("explain/", ExplainView.as_view(), name="explain"),
    path("log/", LogView.as_view(), name="log"),
    path("statistics/", StatisticsView.as_view(), name="statistics"),
    path("trace/<str:correlation_id>/", TraceView.as_view(), name="trace"),
]
