from django.db import migrations

from config.common.database.prefixes import create_prefix_index, drop_prefix_index


def create_index(apps, schema_editor):
    create_prefix_index(schema_editor, 'sensor_id_prefix', table='sensors_sensor', column='id')


def drop_index(apps, schema_editor):
    drop_prefix_index(schema_editor, 'sensor_id_prefix')


class Migration(migrations.Migration):
    """The search of the admin finds a sensor by how its id begins, whatever the case."""

    dependencies = [
        ('sensors', '0016_client_by_name'),
    ]

    operations = [migrations.RunPython(create_index, drop_index)]
