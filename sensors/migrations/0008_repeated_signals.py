from django.db import migrations, models


class Migration(migrations.Migration):
    """A signal that came again leaves a trace: without it nobody could say why it had no effect."""

    dependencies = [
        ('sensors', '0007_rejected_by_minute'),
    ]

    operations = [
        migrations.CreateModel(
            name='RepeatedSignal',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('recorded_at', models.DateTimeField(verbose_name='minute')),
                ('sensor_id', models.CharField(max_length=16, verbose_name='sensor')),
                ('signal_at', models.DateTimeField(verbose_name='time')),
                ('signal_id', models.CharField(max_length=64, verbose_name='id')),
                ('last_at', models.DateTimeField(verbose_name='last')),
            ],
            options={
                'verbose_name': 'repeated signal',
                'verbose_name_plural': 'repeated signals',
                'constraints': [
                    models.UniqueConstraint(
                        fields=('recorded_at', 'sensor_id'), name='repeated_folded_by_minute'
                    )
                ],
            },
        ),
    ]
