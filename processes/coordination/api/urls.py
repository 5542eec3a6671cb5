from django.urls import path

from processes.coordination.api import events, rows

urlpatterns = [
    path("coordination/writer/changes/", rows.ChangesView.as_view()),
    path("coordination/writer/<str:path>/", rows.WriterRowsView.as_view()),
    path("coordination/writer/<str:path>/<str:row>/", rows.WriterRowView.as_view()),
    path("coordination/reader/<str:path>/", rows.ReaderRowsView.as_view()),
    path("coordination/reader/<str:path>/<str:row>/", rows.ReaderRowView.as_view()),
    path("coordination/events/", events.EventsView.as_view()),
    path("coordination/events/<int:event_id>/", events.EventView.as_view()),
    path("coordination/events/<int:event_id>/resolve/", events.ResolveView.as_view()),
]
