from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('notifications', '0017_notices'),
    ]

    operations = [
        migrations.AddIndex(
            model_name='event',
            index=models.Index(condition=models.Q(('position__isnull', False), ('type__in', ('sensor.state_changed', 'sensor.connection_lost', 'sensor.connection_restored', 'sensor.loss_withdrawn', 'sensor.left_open'))), fields=['position'], name='event_door'),
        ),
    ]
