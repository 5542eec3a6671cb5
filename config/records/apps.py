from django.apps import AppConfig
from django.db.models.signals import post_migrate
from django.utils.translation import gettext_lazy as _


class RecordsConfig(AppConfig):
    name = "config.records"
    label = "records"
    verbose_name = _("Records")

    def ready(self) -> None:
        from config.access.accounts import name_accounts
        from config.access.groups import sync_groups
        from config.admin_base.search import Rank, SearchSource, register_search_source
        from config.audit import search, selectors
        from config.audit.subjects import register_subject_names
        from config.audit.trace import TraceSource, register_trace_source
        from config.common.encryption import register_encrypted

        # Connected after auth's own receiver, which makes the permissions of the same app.
        post_migrate.connect(sync_groups, dispatch_uid="records.keep_groups")
        register_encrypted("records.IdempotencyRecord", "answer")
        register_subject_names(name_accounts)
        changes, log, keys, users = (
            "records.view_changerecord",
            "records.view_logentry",
            "records.view_accesskey",
            "auth.view_user",
        )
        register_trace_source(
            TraceSource(
                "",
                selectors.trace_changes,
                (
                    (changes, selectors.public_changes()),
                    (keys, selectors.changes_of_keys()),
                    (users, selectors.changes_of_accounts()),
                ),
            )
        )
        register_trace_source(
            TraceSource("", selectors.trace_log, ((log, selectors.public_log()), (users, selectors.log_of_accounts())))
        )
        register_search_source(SearchSource(_("Access keys"), "key", keys, Rank.RECORDS, search.find_keys))
        register_search_source(
            SearchSource(_("Registry changes"), "history_edu", changes, Rank.RECORDS, search.find_changes)
        )
