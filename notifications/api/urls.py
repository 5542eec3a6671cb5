from django.urls import URLPattern, URLResolver, path

from notifications.api.alerts import AcknowledgeView, AlertsView, MuteView, ResolveView

urlpatterns: list[URLPattern | URLResolver] = [
    path("alerts/", AlertsView.as_view(), name="alerts"),
    path("alerts/<int:alert_id>/acknowledge/", AcknowledgeView.as_view(), name="alert-acknowledge"),
    path("alerts/<int:alert_id>/resolve/", ResolveView.as_view(), name="alert-resolve"),
    path("alerts/<int:alert_id>/mute/", MuteView.as_view(), name="alert-mute"),
]
