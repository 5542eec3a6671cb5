from django.contrib import admin
from django.urls import path

from config.dashboard.trace_page import trace_view

urlpatterns = [
    path("trace/", admin.site.admin_view(trace_view), name="trace-page"),
]
