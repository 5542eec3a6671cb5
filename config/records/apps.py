from django.apps import AppConfig
from django.db.models.signals import post_migrate
from django.utils.translation import gettext_lazy as _


class RecordsConfig(AppConfig):
    name = "config.records"
    label = "records"
    verbose_name = _("Records")

    def ready(self) -> None:
        from config.common.encryption import register_encrypted
        from config.records import selectors
        from config.records.groups import keep_groups
        from config.records.tracing import Tracing, register_tracing

        # Connected after auth's own receiver, which makes the permissions of the same app.
        post_migrate.connect(keep_groups, dispatch_uid="records.keep_groups")
        register_encrypted("records.IdempotencyRecord", "answer")
        register_tracing(Tracing("records.view_changerecord", selectors.trace_changes))
        register_tracing(Tracing("records.view_accesskey", selectors.trace_changes_of_keys))
        register_tracing(Tracing("records.view_logentry", selectors.trace_log))
        register_tracing(Tracing("auth.view_user", selectors.trace_accounts))
