from django.urls import URLPattern, path

from sensors.api.clients import (
    ClientChangesView,
    ClientsView,
    ClientView,
    PauseView,
    PingView,
    ResumeView,
    RotateSecretView,
)
from sensors.api.deliveries import ClientDeliveriesView, DeliveryView, ResendView, SensorDeliveriesView
from sensors.api.history import ClientEventsView, ClientHistoryView, SensorEventsView, SensorHistoryView
from sensors.api.registry import LinkView, SensorChangesView, SensorsView, SensorView
from sensors.api.signals import RejectedSignalsView, SignalsView
from sensors.api.tables import ExportView, ImportView

urlpatterns: list[URLPattern] = [
    path("signals/", SignalsView.as_view()),
    path("signals/rejected/", RejectedSignalsView.as_view(), name="signals-rejected"),
    path("sensors/", SensorsView.as_view(), name="sensors"),
    path("sensors/import/", ImportView.as_view(), name="sensor-import"),
    path("sensors/export/", ExportView.as_view(), name="sensor-export"),
    path("sensors/<str:sensor_id>/", SensorView.as_view(), name="sensor"),
    path("sensors/<str:sensor_id>/changes/", SensorChangesView.as_view(), name="sensor-changes"),
    path("sensors/<str:sensor_id>/clients/<int:client_id>/", LinkView.as_view(), name="sensor-client"),
    path("sensors/<str:sensor_id>/history/", SensorHistoryView.as_view(), name="sensor-history"),
    path("sensors/<str:sensor_id>/events/", SensorEventsView.as_view(), name="sensor-events"),
    path("sensors/<str:sensor_id>/deliveries/", SensorDeliveriesView.as_view(), name="sensor-deliveries"),
    path("clients/", ClientsView.as_view(), name="clients"),
    path("clients/<int:client_id>/", ClientView.as_view(), name="client"),
    path("clients/<int:client_id>/changes/", ClientChangesView.as_view(), name="client-changes"),
    path("clients/<int:client_id>/rotate-secret/", RotateSecretView.as_view(), name="client-rotate-secret"),
    path("clients/<int:client_id>/pause/", PauseView.as_view(), name="client-pause"),
    path("clients/<int:client_id>/resume/", ResumeView.as_view(), name="client-resume"),
    path("clients/<int:client_id>/ping/", PingView.as_view(), name="client-ping"),
    path("clients/<int:client_id>/history/", ClientHistoryView.as_view(), name="client-history"),
    path("clients/<int:client_id>/events/", ClientEventsView.as_view(), name="client-events"),
    path("clients/<int:client_id>/deliveries/", ClientDeliveriesView.as_view(), name="client-deliveries"),
    path("deliveries/<int:delivery_id>/", DeliveryView.as_view(), name="delivery"),
    path("deliveries/<int:delivery_id>/resend/", ResendView.as_view(), name="delivery-resend"),
]
