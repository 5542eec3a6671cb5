from django.db import migrations

from config.common.database.prefixes import create_prefix_index, drop_prefix_index


def create_index(apps, schema_editor):
    create_prefix_index(schema_editor, 'device_id_prefix', table='messaging_device', column='id')


def drop_index(apps, schema_editor):
    drop_prefix_index(schema_editor, 'device_id_prefix')


class Migration(migrations.Migration):
    """The search of the admin finds a device by how its id begins, whatever the case; other parties are few."""

    dependencies = [
        ('messaging', '0009_last_request'),
    ]

    operations = [migrations.RunPython(create_index, drop_index)]
