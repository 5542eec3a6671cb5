from typing import Any

from django.db import migrations

COMPENSATION_FAILED = 14


def keep_first_reasons(apps: Any, schema_editor: Any) -> None:
    """Take over why events were cancelled whose compensation has failed: so far only the Coordinator has kept it."""
    alias = schema_editor.connection.alias
    failed = apps.get_model("coordination", "AppEvent").objects.using(alias)
    failed = failed.filter(app_event_status_id=COMPENSATION_FAILED)
    reasons = apps.get_model("coordination", "WriterEvent").objects.using(alias).filter(pk__in=failed.values("pk"))
    for pk, reason in reasons.values_list("pk", "reason"):
        failed.filter(pk=pk).update(cancel_reason=reason)


class Migration(migrations.Migration):
    dependencies = [("coordination", "0005_first_reason")]
    operations = [migrations.RunPython(keep_first_reasons, migrations.RunPython.noop)]
