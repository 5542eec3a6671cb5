"""The pages that an administrator cannot open about the first row of the volume, each with its status and the reason.

Whatever else is refused is a defect: a page that nobody can open, or one that is no longer counted and measured.
"""

POST_ALONE = (
    "admin/saved-filters/",
    "admin/saved-filters/<int:filter_id>/delete/",
    "admin/first-steps/signal/",
    "admin/first-steps/hide/",
    "admin/workflows/workflowdraft/save/",
    "admin/workflows/workflowbatch/<uuid:batch_id>/run/",
    "admin/workflows/workflowbatch/<uuid:batch_id>/stop/",
    "admin/workflows/workitem/<int:pk>/claim/",
    "admin/workflows/workitem/<int:pk>/release/",
)
"""They act, and show nothing."""
MADE_BY_THE_PRODUCT = (
    "django_celery_beat/periodictask",
    "records/changerecord",
    "records/logentry",
    "notifications/alert",
    "notifications/event",
    "notifications/delivery",
    "notifications/follower",
    "notifications/incident",
    "notifications/parkedmessage",
    "notifications/repeatsession",
    "sensors/rejectedsignal",
    "messaging/message",
    "exchange/exchangeprocess",
    "workflows/workflowbatch",
    "workflows/workflowdefinition",
    "workflows/workflowdraft",
    "workflows/workflowinstance",
    "workflows/workitem",
    "coordination/appevent",
)
"""Nobody adds a row by hand."""
NEVER_DELETED = (
    *MADE_BY_THE_PRODUCT,
    "auth/user",
    "auth/group",
    "records/accesskey",
    "sensors/client",
    "sensors/sensor",
    "messaging/enterprise",
    "messaging/subsystem",
    "messaging/device",
    "messaging/exchangedatabase",
    "django_celery_beat/crontabschedule",
)
"""They are deactivated, revoked or removed by a page of their own, or expire; users, groups and times in use stay."""
IN_ANOTHER_STATE = ("workflows/workflowdefinition/<path:object_id>/table/",)
"""The page is about a row of another kind, and its button is not shown."""
REFUSALS: dict[str, int] = {
    **dict.fromkeys(POST_ALONE, 405),
    **{f"admin/{model}/add/": 403 for model in MADE_BY_THE_PRODUCT},
    **{f"admin/{model}/<path:object_id>/delete/": 403 for model in NEVER_DELETED},
    **{f"admin/{page}": 403 for page in IN_ANOTHER_STATE},
}
