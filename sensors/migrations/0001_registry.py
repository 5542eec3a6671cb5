import django.core.validators
import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models

from config.common.database.partitions import CreatePartitionedModel


def keep_updates_within_the_page(apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute(
            "ALTER TABLE sensors_sensorstate SET (fillfactor = 60, autovacuum_vacuum_scale_factor = 0.01)"
        )


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('notifications', '0002_deliveries'),
    ]

    operations = [
        migrations.CreateModel(
            name='ConsumerMark',
            fields=[
                ('consumer', models.CharField(max_length=100, primary_key=True, serialize=False)),
                ('heard_at', models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name='Sensor',
            fields=[
                ('id', models.CharField(max_length=16, primary_key=True, serialize=False, validators=[django.core.validators.RegexValidator('^[A-Za-z0-9]{1,16}\\Z', 'Enter 1 to 16 letters and digits.')], verbose_name='id')),
                ('address', models.CharField(max_length=500, verbose_name='address')),
                ('notes', models.TextField(blank=True, max_length=5000, verbose_name='notes')),
                ('active', models.BooleanField(default=True, verbose_name='active')),
                ('heartbeat_timeout', models.PositiveIntegerField(default=3600, validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(2592000)], verbose_name='heartbeat timeout, seconds')),
                ('muted_until', models.DateTimeField(blank=True, null=True, verbose_name='muted until')),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False, verbose_name='created')),
            ],
            options={
                'verbose_name': 'sensor',
                'verbose_name_plural': 'sensors',
                'ordering': ['id'],
            },
        ),
        migrations.CreateModel(
            name='Client',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=200, verbose_name='name')),
                ('active', models.BooleanField(default=True, verbose_name='active')),
                ('muted_until', models.DateTimeField(blank=True, null=True, verbose_name='muted until')),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False, verbose_name='created')),
                ('endpoint', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='client', to='notifications.endpoint', verbose_name='endpoint')),
            ],
            options={
                'verbose_name': 'client',
                'verbose_name_plural': 'clients',
                'ordering': ['name', 'id'],
            },
        ),
        migrations.CreateModel(
            name='HistorySpool',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('batch', models.BinaryField()),
                ('due_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('fence', models.BigIntegerField(default=0)),
            ],
            options={
                'indexes': [models.Index(fields=['due_at'], name='history_spool_due')],
            },
        ),
        CreatePartitionedModel(
            name='RejectedSignal',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('code', models.CharField(max_length=20, verbose_name='reason')),
                ('sensor_id', models.CharField(blank=True, max_length=64, verbose_name='sensor')),
                ('recorded_at', models.DateTimeField(verbose_name='minute')),
                ('count', models.PositiveIntegerField(default=1, verbose_name='times')),
                ('message', models.CharField(max_length=300, verbose_name='message')),
                ('raw', models.TextField(blank=True, verbose_name='text')),
                ('last_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), verbose_name='last')),
            ],
            options={
                'verbose_name': 'rejected signal',
                'verbose_name_plural': 'rejected signals',
                'ordering': ['-recorded_at', '-id'],
                'constraints': [models.UniqueConstraint(fields=('code', 'sensor_id', 'recorded_at'), name='rejected_folded_by_minute')],
            },
        ),
        migrations.CreateModel(
            name='SensorClient',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('client', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='links', to='sensors.client', verbose_name='client')),
                ('sensor', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='links', to='sensors.sensor', verbose_name='sensor')),
            ],
            options={
                'verbose_name': 'link',
                'verbose_name_plural': 'links',
            },
        ),
        migrations.AddField(
            model_name='sensor',
            name='clients',
            field=models.ManyToManyField(blank=True, related_name='sensors', through='sensors.SensorClient', to='sensors.client', verbose_name='clients'),
        ),
        migrations.CreateModel(
            name='StoredSignal',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('sensor_id', models.CharField(max_length=16, verbose_name='sensor')),
                ('at', models.DateTimeField(verbose_name='time')),
                ('signal_id', models.CharField(max_length=64, verbose_name='id')),
                ('data', models.PositiveSmallIntegerField(verbose_name='state')),
                ('received_at', models.DateTimeField(verbose_name='received')),
            ],
            options={
                'verbose_name': 'signal',
                'verbose_name_plural': 'signals',
                'indexes': [models.Index(fields=['at'], name='stored_signal_at')],
                'constraints': [models.UniqueConstraint(fields=('sensor_id', 'at', 'signal_id'), name='stored_signal_once')],
            },
        ),
        migrations.CreateModel(
            name='SensorState',
            fields=[
                ('sensor', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='state', serialize=False, to='sensors.sensor', verbose_name='sensor')),
                ('value', models.PositiveSmallIntegerField(null=True, verbose_name='state')),
                ('changed_at', models.DateTimeField(null=True, verbose_name='since')),
                ('last_at', models.DateTimeField(null=True, verbose_name='latest signal')),
                ('last_id', models.CharField(blank=True, max_length=64)),
                ('seen_at', models.DateTimeField(null=True, verbose_name='last seen')),
                ('lost_at', models.DateTimeField(null=True, verbose_name='lost since')),
                ('check_at', models.DateTimeField(null=True)),
            ],
            options={
                'verbose_name': 'state',
                'verbose_name_plural': 'states',
                'indexes': [models.Index(condition=models.Q(('check_at__isnull', False)), fields=['check_at'], name='state_check'), models.Index(condition=models.Q(('lost_at__isnull', False)), fields=['lost_at'], name='state_lost')],
                'constraints': [models.CheckConstraint(condition=models.Q(('value__isnull', True), ('value__in', [0, 1]), _connector='OR'), name='state_value_is_a_bit'), models.CheckConstraint(condition=models.Q(models.Q(('changed_at__isnull', True), ('last_at__isnull', True), ('value__isnull', True)), models.Q(('changed_at__isnull', False), ('last_at__isnull', False), ('value__isnull', False)), _connector='OR'), name='state_known_with_its_signal'), models.CheckConstraint(condition=models.Q(('lost_at__isnull', True), ('seen_at__isnull', False), _connector='OR'), name='state_lost_only_when_seen')],
            },
        ),
        migrations.AddConstraint(
            model_name='sensorclient',
            constraint=models.UniqueConstraint(fields=('sensor', 'client'), name='sensor_client_once'),
        ),
        migrations.AddConstraint(
            model_name='sensor',
            constraint=models.CheckConstraint(condition=models.Q(('heartbeat_timeout__gte', 1), ('heartbeat_timeout__lte', 2592000)), name='sensor_timeout_in_bounds'),
        ),
        migrations.CreateModel(
            name='Probe',
            fields=[
                ('sent_at', models.DateTimeField(primary_key=True, serialize=False)),
                ('passed_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
        ),
        migrations.CreateModel(
            name='DeafSpan',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('from_at', models.DateTimeField(verbose_name='from')),
                ('to_at', models.DateTimeField(verbose_name='to')),
            ],
            options={
                'indexes': [models.Index(fields=['to_at'], name='deaf_span_to')],
            },
        ),
        migrations.CreateModel(
            name='Hearing',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('heard_at', models.DateTimeField()),
            ],
            options={
                'constraints': [models.CheckConstraint(condition=models.Q(('id', 1)), name='hearing_is_one_row')],
            },
        ),
        migrations.RunPython(keep_updates_within_the_page, migrations.RunPython.noop),
    ]
