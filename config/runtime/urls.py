from django.urls import path

from config.runtime.views import MetricsView, healthz, ingest_liveness, readyz, security_txt

urlpatterns = [
    path("healthz", healthz),
    path("readyz", readyz),
    path("hearing", ingest_liveness),
    path(".well-known/security.txt", security_txt),
    path("metrics", MetricsView.as_view()),
]
