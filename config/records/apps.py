from django.apps import AppConfig
from django.db.models.signals import post_migrate
from django.utils.translation import gettext_lazy as _


class RecordsConfig(AppConfig):
    name = "config.records"
    label = "records"
    verbose_name = _("Records")

    def ready(self) -> None:
        from config.access.groups import sync_groups
        from config.audit import selectors
        from config.audit.trace import TraceSource, register_trace_source
        from config.common.encryption import register_encrypted

        # Connected after auth's own receiver, which makes the permissions of the same app.
        post_migrate.connect(sync_groups, dispatch_uid="records.keep_groups")
        register_encrypted("records.IdempotencyRecord", "answer")
        register_trace_source(TraceSource("records.view_changerecord", selectors.trace_changes))
        register_trace_source(TraceSource("records.view_accesskey", selectors.trace_changes_of_keys))
        register_trace_source(TraceSource("records.view_logentry", selectors.trace_log))
        register_trace_source(TraceSource("auth.view_user", selectors.trace_accounts))
