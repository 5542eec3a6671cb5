import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models

from config.common.database.partitions import CreatePartitionedModel


class Migration(migrations.Migration):

    initial = True

    dependencies = [
    ]

    operations = [
        migrations.CreateModel(
            name='EventHour',
            fields=[
                ('hour', models.DateTimeField(primary_key=True, serialize=False)),
                ('count', models.BigIntegerField(default=0)),
            ],
        ),
        migrations.CreateModel(
            name='Follower',
            fields=[
                ('name', models.CharField(max_length=60, primary_key=True, serialize=False, verbose_name='name')),
                ('position', models.BigIntegerField(default=0, verbose_name='position')),
                ('due_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), verbose_name='due')),
                ('fence', models.BigIntegerField(default=0)),
                ('failures', models.PositiveSmallIntegerField(default=0, verbose_name='failures in a row')),
                ('last_error', models.TextField(blank=True, verbose_name='last error')),
            ],
            options={
                'verbose_name': 'follower',
                'verbose_name_plural': 'followers',
                'ordering': ['name'],
            },
        ),
        CreatePartitionedModel(
            name='Event',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('type', models.CharField(max_length=80, verbose_name='type')),
                ('subject', models.CharField(max_length=120, verbose_name='subject')),
                ('payload', models.JSONField(default=dict, verbose_name='payload')),
                ('at', models.DateTimeField(verbose_name='time')),
                ('recorded_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False, verbose_name='recorded')),
                ('correlation_id', models.CharField(blank=True, max_length=64, verbose_name='correlation id')),
                ('position', models.BigIntegerField(editable=False, null=True, verbose_name='position')),
            ],
            options={
                'verbose_name': 'event',
                'verbose_name_plural': 'events',
                'ordering': ['-id'],
                'indexes': [models.Index(condition=models.Q(('position__isnull', True)), fields=['id'], name='event_unstamped'), models.Index(condition=models.Q(('position__isnull', False)), fields=['position'], name='event_position'), models.Index(fields=['subject', '-id'], name='event_subject'), models.Index(condition=models.Q(('correlation_id', ''), _negated=True), fields=['correlation_id'], name='event_correlation')],
            },
        ),
        migrations.CreateModel(
            name='Sequencer',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('position', models.BigIntegerField(default=0)),
            ],
            options={
                'constraints': [models.CheckConstraint(condition=models.Q(('id', 1)), name='sequencer_is_one_row')],
            },
        ),
        migrations.CreateModel(
            name='Incident',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('position', models.BigIntegerField(verbose_name='position')),
                ('type', models.CharField(max_length=80, verbose_name='type')),
                ('subject', models.CharField(max_length=120, verbose_name='subject')),
                ('event', models.JSONField(verbose_name='event')),
                ('error', models.TextField(verbose_name='error')),
                ('at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), verbose_name='time')),
                ('resolved_at', models.DateTimeField(blank=True, null=True, verbose_name='resolved')),
                ('resolution', models.CharField(blank=True, max_length=300, verbose_name='resolution')),
                ('follower', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, to='notifications.follower', verbose_name='follower')),
            ],
            options={
                'verbose_name': 'incident',
                'verbose_name_plural': 'incidents',
                'ordering': ['-id'],
                'indexes': [models.Index(condition=models.Q(('resolved_at__isnull', True)), fields=['at'], name='incident_open')],
                'constraints': [models.UniqueConstraint(fields=('follower', 'position'), name='incident_once_per_event'), models.CheckConstraint(condition=models.Q(('resolved_at__isnull', True), models.Q(('resolution', ''), _negated=True), _connector='XOR'), name='incident_resolved_with_resolution')],
            },
        ),
    ]
