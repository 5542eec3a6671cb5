from django.urls import path

from config.runtime.views import MetricsView, healthz, hearing, readyz

urlpatterns = [
    path("healthz", healthz),
    path("readyz", readyz),
    path("hearing", hearing),
    path("metrics", MetricsView.as_view()),
]
