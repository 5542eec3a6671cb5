from django.urls import URLPattern, URLResolver, include, path

from sensors.api.clients import (
    ClientChangesView,
    ClientsView,
    ClientView,
    PauseView,
    PingView,
    ResumeView,
    RotateSecretView,
)
from sensors.api.registry import LinkView, SensorChangesView, SensorsView, SensorView
from sensors.api.tables import ExportView, ImportView

urlpatterns: list[URLPattern | URLResolver] = [
    path("sensors/", SensorsView.as_view(), name="sensors"),
    path("sensors/import/", ImportView.as_view(), name="sensor-import"),
    path("sensors/export/", ExportView.as_view(), name="sensor-export"),
    path("sensors/<str:sensor_id>/", SensorView.as_view(), name="sensor"),
    path("sensors/<str:sensor_id>/changes/", SensorChangesView.as_view(), name="sensor-changes"),
    path("sensors/<str:sensor_id>/clients/<int:client_id>/", LinkView.as_view(), name="sensor-client"),
    path("clients/", ClientsView.as_view(), name="clients"),
    path("clients/<int:client_id>/", ClientView.as_view(), name="client"),
    path("clients/<int:client_id>/changes/", ClientChangesView.as_view(), name="client-changes"),
    path("clients/<int:client_id>/rotate-secret/", RotateSecretView.as_view(), name="client-rotate-secret"),
    path("clients/<int:client_id>/pause/", PauseView.as_view(), name="client-pause"),
    path("clients/<int:client_id>/resume/", ResumeView.as_view(), name="client-resume"),
    path("clients/<int:client_id>/ping/", PingView.as_view(), name="client-ping"),
    path("", include("sensors.api.signals")),
    path("", include("sensors.api.history_urls")),
]
