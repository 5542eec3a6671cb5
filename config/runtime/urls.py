from django.urls import path

from config.runtime.views import MetricsView, healthz, readyz

urlpatterns = [
    path("healthz", healthz),
    path("readyz", readyz),
    path("metrics", MetricsView.as_view()),
]
