from django.urls import URLPattern, URLResolver, path

from notifications.api.alerts import AcknowledgeView, AlertsView, MuteView, ResolveView
from notifications.api.sessions import (
    AppendView,
    RepeatNowView,
    ReviveView,
    RewriteView,
    RotateThemeSecretView,
    SaveView,
    SessionsView,
    SessionView,
    ShiftView,
    ThemesView,
    ThemeView,
)

urlpatterns: list[URLPattern | URLResolver] = [
    path("alerts/", AlertsView.as_view(), name="alerts"),
    path("alerts/<int:alert_id>/acknowledge/", AcknowledgeView.as_view(), name="alert-acknowledge"),
    path("alerts/<int:alert_id>/resolve/", ResolveView.as_view(), name="alert-resolve"),
    path("alerts/<int:alert_id>/mute/", MuteView.as_view(), name="alert-mute"),
    path("sessions/", SessionsView.as_view(), name="sessions"),
    path("sessions/themes/", ThemesView.as_view(), name="session-themes"),
    path("sessions/themes/<int:theme>/", ThemeView.as_view(), name="session-theme"),
    path(
        "sessions/themes/<int:theme>/rotate-secret/",
        RotateThemeSecretView.as_view(),
        name="session-theme-secret",
    ),
    path("sessions/<int:session_id>/", SessionView.as_view(), name="session"),
    path("sessions/<int:session_id>/append/", AppendView.as_view(), name="session-append"),
    path("sessions/<int:session_id>/rewrite/", RewriteView.as_view(), name="session-rewrite"),
    path("sessions/<int:session_id>/save/", SaveView.as_view(), name="session-save"),
    path("sessions/<int:session_id>/repeat-now/", RepeatNowView.as_view(), name="session-repeat-now"),
    path("sessions/<int:session_id>/shift/", ShiftView.as_view(), name="session-shift"),
    path("sessions/<int:session_id>/revive/", ReviveView.as_view(), name="session-revive"),
]
