from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class RecordsConfig(AppConfig):
    name = "config.records"
    label = "records"
    verbose_name = _("Records")
