from django.urls import path

from config.dashboard.live.consumer import DashboardConsumer

sockets = [path("ws/dashboard/", DashboardConsumer.as_asgi())]
