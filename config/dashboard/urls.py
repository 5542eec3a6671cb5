from django.contrib import admin
from django.urls import path

from config.admin_base.saved_filters import delete_filter_view, save_filter_view
from config.admin_base.time_zone import time_zone_view
from config.dashboard.explain_page import explain_view
from config.dashboard.first_steps import hide_first_steps, send_first_signal
from config.dashboard.search_view import search_view
from config.dashboard.start_page import drawn_cards_view
from config.dashboard.trace_page import trace_view

urlpatterns = [
    # In place of the theme's own search, which keeps answers for five minutes and makes small letters of what is typed.
    path("search/", admin.site.admin_view(search_view), name="search-answers"),
    path("explain/", admin.site.admin_view(explain_view), name="explain-page"),
    path("trace/", admin.site.admin_view(trace_view), name="trace-page"),
    path("saved-filters/", admin.site.admin_view(save_filter_view), name="save-filter"),
    path("saved-filters/<int:filter_id>/delete/", admin.site.admin_view(delete_filter_view), name="delete-filter"),
    path("time-zone/", admin.site.admin_view(time_zone_view), name="time-zone"),
    path("drawn-cards/", admin.site.admin_view(drawn_cards_view), name="drawn-cards"),
    path("first-steps/signal/", admin.site.admin_view(send_first_signal), name="first-signal"),
    path("first-steps/hide/", admin.site.admin_view(hide_first_steps), name="hide-first-steps"),
]
