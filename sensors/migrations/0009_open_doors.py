import django.core.validators
import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('sensors', '0008_repeated_signals'),
    ]

    operations = [
        migrations.AddField(
            model_name='sensor',
            name='open_limit',
            field=models.PositiveIntegerField(blank=True, help_text='How long the door may stay open before it is reported. Leave empty for no limit.', null=True, validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(2592000)], verbose_name='open limit, seconds'),
        ),
        migrations.AddConstraint(
            model_name='sensor',
            constraint=models.CheckConstraint(condition=models.Q(('open_limit__isnull', True), models.Q(('open_limit__gte', 1), ('open_limit__lte', 2592000)), _connector='OR'), name='sensor_open_limit_in_bounds'),
        ),
        migrations.AddIndex(
            model_name='sensor',
            index=models.Index(condition=models.Q(('open_limit__isnull', False)), fields=['id'], name='sensor_limited'),
        ),
        migrations.CreateModel(
            name='OpenDoor',
            fields=[
                ('sensor', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='open_door', serialize=False, to='sensors.sensor', verbose_name='sensor')),
                ('opened_at', models.DateTimeField(verbose_name='open since')),
                ('limit_at', models.DateTimeField(verbose_name='limit reached')),
                ('heard_at', models.DateTimeField()),
                ('due_at', models.DateTimeField(null=True)),
                ('reported_at', models.DateTimeField(null=True, verbose_name='reported')),
                ('correlation_id', models.CharField(blank=True, max_length=64, verbose_name='correlation id')),
            ],
            options={
                'verbose_name': 'open door',
                'verbose_name_plural': 'open doors',
                'indexes': [models.Index(condition=models.Q(('due_at__isnull', False)), fields=['due_at'], name='open_door_due'), models.Index(fields=['limit_at'], name='open_door_limit')],
                'constraints': [models.CheckConstraint(condition=models.Q(('reported_at__isnull', True), ('due_at__isnull', True), _connector='OR'), name='open_door_is_reported_once')],
            },
        ),
    ]
