from django.urls import path

from config.records.api.changes import RevertView

urlpatterns = [
    path("changes/<int:change_id>/revert/", RevertView.as_view(), name="change-revert"),
]
