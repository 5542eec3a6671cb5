from django.urls import path

from config.urls import handler400, handler403, handler404, handler500, urlpatterns  # noqa: F401
from tests.config.api.sample import views

urlpatterns = [
    path("api/v1/groups/", views.GroupsView.as_view()),
    path("api/v1/groups/<int:group_id>/", views.GroupView.as_view()),
    path("api/v1/permissions/", views.PermissionsView.as_view()),
    path("api/v1/closed/", views.ClosedView.as_view()),
    path("api/v1/devices/", views.DeviceView.as_view()),
    path("api/v1/failing/<str:how>/", views.FailingView.as_view()),
    path("failing/<str:how>/", views.failing_page),
    path("slow/<str:seconds>/", views.slow),
    path("api/v1/slow/<str:seconds>/", views.slow),
    path("api/v1/echo/", views.echo),
    path("api/v1/large/<int:size>/", views.large),
    path("api/v1/endless/", views.endless),
    path("api/v1/messages/", views.echo),
    path("echo/", views.echo),
    *urlpatterns,
]
