import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('notifications', '0001_spine'),
    ]

    operations = [
        migrations.CreateModel(
            name='Endpoint',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('url', models.CharField(max_length=500, verbose_name='URL')),
                ('secret', models.BinaryField()),
                ('old_secret', models.BinaryField(null=True)),
                ('old_secret_until', models.DateTimeField(null=True)),
                ('active', models.BooleanField(default=True, verbose_name='active')),
                ('paused', models.BooleanField(default=False, verbose_name='paused')),
            ],
            options={
                'verbose_name': 'endpoint',
                'verbose_name_plural': 'endpoints',
                'constraints': [models.CheckConstraint(condition=models.Q(models.Q(('old_secret__isnull', True), ('old_secret_until__isnull', True)), models.Q(('old_secret__isnull', False), ('old_secret_until__isnull', False)), _connector='OR'), name='endpoint_old_secret_has_an_end')],
            },
        ),
        migrations.CreateModel(
            name='Delivery',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('type', models.CharField(max_length=80, verbose_name='type')),
                ('family', models.CharField(choices=[('state', 'state'), ('connection', 'connection'), ('list', 'list'), ('ping', 'ping')], max_length=10, verbose_name='family')),
                ('subject', models.CharField(blank=True, max_length=120, verbose_name='subject')),
                ('body', models.JSONField(verbose_name='message')),
                ('status', models.CharField(choices=[('pending', 'pending'), ('delivered', 'delivered'), ('superseded', 'superseded'), ('dead', 'dead'), ('cancelled', 'cancelled')], default='pending', max_length=10, verbose_name='status')),
                ('reason', models.CharField(blank=True, max_length=300, verbose_name='reason')),
                ('due_at', models.DateTimeField(null=True, verbose_name='next attempt')),
                ('fence', models.BigIntegerField(default=0)),
                ('correlation_id', models.CharField(blank=True, max_length=64, verbose_name='correlation id')),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False, verbose_name='created')),
                ('superseded_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='supersedes', to='notifications.delivery', verbose_name='superseded by')),
                ('endpoint', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='deliveries', to='notifications.endpoint', verbose_name='endpoint')),
            ],
            options={
                'verbose_name': 'delivery',
                'verbose_name_plural': 'deliveries',
                'ordering': ['-id'],
                'indexes': [models.Index(condition=models.Q(('status', 'pending')), fields=['endpoint', 'due_at'], name='delivery_due'), models.Index(fields=['endpoint', '-id'], name='delivery_endpoint'), models.Index(fields=['subject', '-id'], name='delivery_subject'), models.Index(condition=models.Q(('correlation_id', ''), _negated=True), fields=['correlation_id'], name='delivery_correlation')],
                'constraints': [models.CheckConstraint(condition=models.Q(models.Q(('due_at__isnull', False), ('status', 'pending')), models.Q(models.Q(('status', 'pending'), _negated=True), ('due_at__isnull', True)), _connector='OR'), name='delivery_due_exactly_while_pending'), models.UniqueConstraint(condition=models.Q(('family__in', ['state', 'connection']), ('status', 'pending'), ('superseded_by__isnull', True)), fields=('endpoint', 'subject', 'family'), name='delivery_one_pending_per_family')],
            },
        ),
    ]
