from typing import Any

from django.db import migrations


def hold_rows(apps: Any, schema_editor: Any) -> None:
    """Let events that wait already keep their rows, as those do that come to wait from now on."""
    alias = schema_editor.connection.alias
    held_row = apps.get_model("coordination", "HeldRow")
    waiting = apps.get_model("coordination", "WriterEvent").objects.using(alias).filter(is_waiting=True)
    for pk, position, touched in waiting.values_list("pk", "position", "touched").iterator(2000):
        held_row.objects.using(alias).bulk_create(
            (held_row(key=key, writer_event_id=pk, position=position) for key in touched), ignore_conflicts=True
        )


class Migration(migrations.Migration):
    dependencies = [("coordination", "0002_waiting_beside_the_line")]
    operations = [migrations.RunPython(hold_rows, migrations.RunPython.noop)]
