from django.urls import path

from processes.workflows.api import definitions, events, external_tasks, instances

urlpatterns = [
    path("workflows/definitions/", definitions.DefinitionsView.as_view()),
    path("workflows/definitions/<str:key>/revisions/", definitions.RevisionsView.as_view()),
    path("workflows/definitions/<str:key>/revisions/<int:number>/", definitions.RevisionView.as_view()),
    path("workflows/definitions/<str:key>/revisions/<int:number>/diagram.svg", definitions.DiagramView.as_view()),
    path("workflows/instances/", instances.InstancesView.as_view()),
    path("workflows/instances/<uuid:instance_id>/", instances.InstanceView.as_view()),
    path("workflows/instances/<uuid:instance_id>/commands/", instances.CommandsView.as_view()),
    path("workflows/instances/<uuid:instance_id>/versions/", instances.VersionsView.as_view()),
    path("workflows/instances/<uuid:instance_id>/versions/<int:number>/", instances.VersionView.as_view()),
    path("workflows/instances/<uuid:instance_id>/diff/", instances.DifferenceView.as_view()),
    path("workflows/instances/<uuid:instance_id>/return/", instances.ReturnView.as_view()),
    path("workflows/tasks/", instances.TasksView.as_view()),
    path("workflows/events/", events.EventsView.as_view()),
    path("workflows/external-tasks/fetch/", external_tasks.FetchView.as_view()),
    path("workflows/external-tasks/<str:task>/complete/", external_tasks.CompleteView.as_view()),
    path("workflows/external-tasks/<str:task>/fail/", external_tasks.FailView.as_view()),
]
