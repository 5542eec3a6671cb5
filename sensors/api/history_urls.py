from django.urls import URLPattern, path

from sensors.api.deliveries import ClientDeliveriesView, DeliveryView, ResendView, SensorDeliveriesView
from sensors.api.history import ClientEventsView, ClientHistoryView, SensorEventsView, SensorHistoryView
from sensors.api.rejected import RejectedSignalsView

urlpatterns: list[URLPattern] = [
    path("sensors/<str:sensor_id>/history/", SensorHistoryView.as_view(), name="sensor-history"),
    path("sensors/<str:sensor_id>/events/", SensorEventsView.as_view(), name="sensor-events"),
    path("sensors/<str:sensor_id>/deliveries/", SensorDeliveriesView.as_view(), name="sensor-deliveries"),
    path("clients/<int:client_id>/history/", ClientHistoryView.as_view(), name="client-history"),
    path("clients/<int:client_id>/events/", ClientEventsView.as_view(), name="client-events"),
    path("clients/<int:client_id>/deliveries/", ClientDeliveriesView.as_view(), name="client-deliveries"),
    path("deliveries/<int:delivery_id>/", DeliveryView.as_view(), name="delivery"),
    path("deliveries/<int:delivery_id>/resend/", ResendView.as_view(), name="delivery-resend"),
    path("signals/rejected/", RejectedSignalsView.as_view(), name="signals-rejected"),
]
