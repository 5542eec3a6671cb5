from django.db import migrations

from config.common.database.trigrams import create_trigram_index, drop_trigram_index


def create_indexes(apps, schema_editor):
    create_trigram_index(schema_editor, 'device_name_trigrams', table='messaging_device', column='name')


def drop_indexes(apps, schema_editor):
    drop_trigram_index(schema_editor, 'device_name_trigrams')


class Migration(migrations.Migration):
    """The search of the admin finds a device by any part of its name."""

    dependencies = [
        ('messaging', '0007_words'),
    ]

    operations = [migrations.RunPython(create_indexes, drop_indexes)]
