from django.urls import path

from config.records.api.changes import RevertView
from config.records.api.trace import TraceView

urlpatterns = [
    path("changes/<int:change_id>/revert/", RevertView.as_view(), name="change-revert"),
    path("trace/<str:correlation_id>/", TraceView.as_view(), name="trace"),
]
