from django.contrib import admin
from django.urls import URLPattern, URLResolver, include, path, re_path
from django.views.generic import RedirectView
from drf_spectacular.views import SpectacularSwaggerSplitView

from config.api.document import SchemaView
from config.api.first_call import FirstCallView
from config.common.web.api_not_found import api_not_found

api_patterns: list[URLPattern | URLResolver] = [
    path("", include("config.audit.api.urls")),
    path("", include("notifications.api.urls")),
    path("", include("sensors.api.urls")),
    path("", include("messaging.api.urls")),
    path("", include("processes.exchange.api.urls")),
    path("", include("processes.workflows.api.urls")),
    path("", include("processes.coordination.api.urls")),
    path("schema/", SchemaView.as_view(), name="schema"),
    path("docs/first-call/", FirstCallView.as_view(), name="first-call"),
    path("docs/", SpectacularSwaggerSplitView.as_view(), name="docs"),
]

urlpatterns = [
    path("api/v1/", include(api_patterns)),
    path("", RedirectView.as_view(pattern_name="admin:index")),
    path("", include("config.runtime.urls")),
    path("admin/", include("config.dashboard.urls")),
    path("admin/", admin.site.urls),
    path("i18n/", include("django.conf.urls.i18n")),
    re_path(r"^api(?:/|$)", api_not_found),
]

handler400 = handler403 = handler404 = "config.common.web.middleware.handle_exception"
handler500 = "config.common.web.middleware.handle_error"
