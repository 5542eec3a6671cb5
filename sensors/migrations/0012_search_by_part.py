from django.db import migrations

from config.common.database.trigrams import create_trigram_index, drop_trigram_index


def create_indexes(apps, schema_editor):
    create_trigram_index(schema_editor, 'sensor_address_trigrams', table='sensors_sensor', column='address')
    create_trigram_index(schema_editor, 'client_name_trigrams', table='sensors_client', column='name')


def drop_indexes(apps, schema_editor):
    for name in ('sensor_address_trigrams', 'client_name_trigrams'):
        drop_trigram_index(schema_editor, name)


class Migration(migrations.Migration):
    """The search of the admin finds a sensor by any part of its address, a client by any part of its name."""

    dependencies = [
        ('sensors', '0011_fill_link_records'),
    ]

    operations = [migrations.RunPython(create_indexes, drop_indexes)]
