from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('sensors', '0014_muted_sensors'),
    ]

    operations = [
        migrations.AddIndex(
            model_name='storedevent',
            index=models.Index(condition=models.Q(('type__in', ('sensor.connection_lost', 'sensor.connection_restored', 'sensor.loss_withdrawn'))), fields=['sensor_id', 'type', 'at', 'id'], name='stored_event_connection'),
        ),
    ]
