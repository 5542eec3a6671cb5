from django.apps import AppConfig
from django.db.models.signals import post_migrate
from django.utils.translation import gettext_lazy as _


class RecordsConfig(AppConfig):
    name = "config.records"
    label = "records"
    verbose_name = _("Records")

    def ready(self) -> None:
        from config.records.groups import keep_groups

        # Connected after auth's own receiver, which makes the permissions of the same app.
        post_migrate.connect(keep_groups, dispatch_uid="records.keep_groups")
