import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('sensors', '0003_inactive_sensors'),
    ]

    operations = [
        migrations.AddField(
            model_name='sensorstate',
            name='page',
            field=models.PositiveIntegerField(db_default=0),
        ),
        migrations.AddField(
            model_name='sensorstate',
            name='recent',
            field=models.BinaryField(db_default=b''),
        ),
        migrations.CreateModel(
            name='SignalPage',
            fields=[
                ('pk', models.CompositePrimaryKey('sensor_id', 'number', blank=True, editable=False, primary_key=True, serialize=False)),
                ('number', models.PositiveSmallIntegerField()),
                ('digests', models.BinaryField()),
                ('sensor', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='sensors.sensor', verbose_name='sensor')),
            ],
            options={
                'constraints': [models.CheckConstraint(condition=models.Q(('number__lt', 16)), name='signal_pages_are_few')],
            },
        ),
    ]
