from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class ReaderConfig(AppConfig):
    name = "processes.coordination.reader"
    label = "coordination_reader"
    verbose_name = _("Readers")
