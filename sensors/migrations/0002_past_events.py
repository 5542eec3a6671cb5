from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('sensors', '0001_registry'),
    ]

    operations = [
        migrations.CreateModel(
            name='StoredEvent',
            fields=[
                ('id', models.BigIntegerField(primary_key=True, serialize=False)),
                ('type', models.CharField(max_length=80, verbose_name='type')),
                ('sensor_id', models.CharField(max_length=16, verbose_name='sensor')),
                ('at', models.DateTimeField(verbose_name='time')),
                ('recorded_at', models.DateTimeField(verbose_name='recorded')),
                ('correlation_id', models.CharField(blank=True, max_length=64, verbose_name='correlation id')),
                ('payload', models.JSONField(default=dict, verbose_name='payload')),
            ],
            options={
                'verbose_name': 'past event',
                'verbose_name_plural': 'past events',
                'indexes': [models.Index(fields=['sensor_id', 'at', 'id'], name='stored_event_sensor'), models.Index(fields=['at'], name='stored_event_at')],
            },
        ),
    ]
