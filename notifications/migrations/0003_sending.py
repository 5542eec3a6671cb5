import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models

from config.common.database.partitions import CreatePartitionedModel


class Migration(migrations.Migration):

    dependencies = [
        ('notifications', '0002_deliveries'),
    ]

    operations = [
        CreatePartitionedModel(
            name='Attempt',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('delivery', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='tries', to='notifications.delivery', verbose_name='delivery')),
                ('at', models.DateTimeField(verbose_name='time')),
                ('url', models.CharField(max_length=500, verbose_name='URL')),
                ('status', models.PositiveSmallIntegerField(null=True, verbose_name='status')),
                ('duration_ms', models.PositiveIntegerField(verbose_name='duration, ms')),
                ('error', models.CharField(blank=True, max_length=300, verbose_name='error')),
                ('answer', models.CharField(blank=True, max_length=1024, verbose_name='answer')),
                ('recorded_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False, verbose_name='recorded')),
            ],
            options={
                'verbose_name': 'attempt',
                'verbose_name_plural': 'attempts',
                'ordering': ['-id'],
            },
        ),
        migrations.CreateModel(
            name='ListedSubject',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('subject', models.CharField(max_length=120)),
                ('is_open', models.BooleanField(default=True)),
            ],
        ),
        migrations.RemoveIndex(
            model_name='delivery',
            name='delivery_due',
        ),
        migrations.AddField(
            model_name='delivery',
            name='attempts',
            field=models.PositiveSmallIntegerField(default=0, verbose_name='attempts'),
        ),
        migrations.AddField(
            model_name='delivery',
            name='is_final',
            field=models.BooleanField(default=False, verbose_name='not to be queued again'),
        ),
        migrations.AddField(
            model_name='delivery',
            name='is_forced',
            field=models.BooleanField(default=False, verbose_name='resent'),
        ),
        migrations.AddField(
            model_name='delivery',
            name='is_retry',
            field=models.BooleanField(default=False, verbose_name='retry'),
        ),
        migrations.AddField(
            model_name='delivery',
            name='under_way_until',
            field=models.DateTimeField(null=True, verbose_name='under way until'),
        ),
        migrations.AddField(
            model_name='endpoint',
            name='is_back',
            field=models.BooleanField(default=False, verbose_name='has come back'),
        ),
        migrations.AddIndex(
            model_name='endpoint',
            index=models.Index(condition=models.Q(('is_back', True)), fields=['id'], name='endpoint_is_back'),
        ),
        migrations.AddField(
            model_name='endpoint',
            name='failures',
            field=models.PositiveIntegerField(default=0, verbose_name='failures in a row'),
        ),
        migrations.AddField(
            model_name='endpoint',
            name='not_before',
            field=models.DateTimeField(null=True, verbose_name='asked to wait until'),
        ),
        migrations.AddField(
            model_name='endpoint',
            name='off_reason',
            field=models.CharField(blank=True, max_length=300, verbose_name='switched off because'),
        ),
        migrations.AddField(
            model_name='endpoint',
            name='opened_at',
            field=models.DateTimeField(null=True, verbose_name='breaker open since'),
        ),
        migrations.AddField(
            model_name='endpoint',
            name='probe_at',
            field=models.DateTimeField(null=True, verbose_name='next probe'),
        ),
        migrations.AlterField(
            model_name='delivery',
            name='endpoint',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='deliveries', to='notifications.endpoint', verbose_name='endpoint'),
        ),
        migrations.AlterField(
            model_name='delivery',
            name='family',
            field=models.CharField(choices=[('state', 'state'), ('connection', 'connection'), ('list', 'list'), ('ping', 'ping'), ('alert', 'alert')], max_length=10, verbose_name='family'),
        ),
        migrations.AlterField(
            model_name='delivery',
            name='superseded_by',
            field=models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='supersedes', to='notifications.delivery', verbose_name='superseded by'),
        ),
        migrations.AddIndex(
            model_name='delivery',
            index=models.Index(condition=models.Q(('status', 'pending')), fields=['is_retry', 'endpoint', 'due_at', 'id'], name='delivery_due'),
        ),
        migrations.AddIndex(
            model_name='delivery',
            index=models.Index(condition=models.Q(('under_way_until__isnull', False)), fields=['endpoint'], name='delivery_under_way'),
        ),
        migrations.AddIndex(
            model_name='delivery',
            index=models.Index(condition=models.Q(('status', 'pending'), ('superseded_by__isnull', False)), fields=['endpoint', 'subject', 'family'], name='delivery_giving_way'),
        ),
        migrations.AddIndex(
            model_name='delivery',
            index=models.Index(condition=models.Q(('is_forced', True), ('status', 'pending')), fields=['endpoint'], name='delivery_forced'),
        ),
        migrations.AddIndex(
            model_name='delivery',
            index=models.Index(condition=models.Q(('is_final', False), ('status__in', ['dead', 'cancelled'])), fields=['endpoint', 'subject', 'family'], name='delivery_may_return'),
        ),
        migrations.AddIndex(
            model_name='delivery',
            index=models.Index(condition=models.Q(('superseded_by__isnull', False)), fields=['superseded_by'], name='delivery_superseded_by'),
        ),
        migrations.AddConstraint(
            model_name='delivery',
            constraint=models.CheckConstraint(condition=models.Q(('under_way_until__isnull', True), ('status', 'pending'), _connector='OR'), name='delivery_under_way_only_while_pending'),
        ),
        migrations.AddConstraint(
            model_name='endpoint',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('opened_at__isnull', True), ('probe_at__isnull', True)), models.Q(('opened_at__isnull', False), ('probe_at__isnull', False)), _connector='OR'), name='endpoint_open_breaker_has_a_probe'),
        ),
        migrations.AddField(
            model_name='listedsubject',
            name='delivery',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='listed', to='notifications.delivery'),
        ),
        migrations.AddField(
            model_name='listedsubject',
            name='endpoint',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='notifications.endpoint'),
        ),
        migrations.AddIndex(
            model_name='listedsubject',
            index=models.Index(condition=models.Q(('is_open', True)), fields=['endpoint', 'subject'], name='listed_open'),
        ),
        migrations.AddIndex(
            model_name='listedsubject',
            index=models.Index(fields=['subject', '-delivery'], name='listed_subject'),
        ),
        migrations.AddConstraint(
            model_name='listedsubject',
            constraint=models.UniqueConstraint(fields=('delivery', 'subject'), name='listed_once'),
        ),
    ]
