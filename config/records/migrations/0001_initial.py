import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
    ]

    operations = [
        migrations.CreateModel(
            name='AccessKey',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=100, verbose_name='name')),
                ('kind', models.CharField(choices=[('service', 'service'), ('client', 'client'), ('device', 'device'), ('database', 'database')], default='service', max_length=10, verbose_name='kind')),
                ('subject', models.CharField(blank=True, max_length=64, verbose_name='belongs to')),
                ('scopes', models.JSONField(blank=True, default=list, verbose_name='scopes')),
                ('prefix', models.CharField(editable=False, max_length=16, unique=True, verbose_name='begins with')),
                ('digest', models.BinaryField(max_length=32)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False, verbose_name='created')),
                ('expires_at', models.DateTimeField(blank=True, null=True, verbose_name='expires')),
                ('ended_at', models.DateTimeField(blank=True, editable=False, null=True, verbose_name='ended')),
            ],
            options={
                'verbose_name': 'access key',
                'verbose_name_plural': 'access keys',
                'ordering': ['-created_at', '-id'],
                'permissions': [('scope_registry_read', 'registry:read'), ('scope_registry_write', 'registry:write'), ('scope_parties_read', 'parties:read'), ('scope_parties_write', 'parties:write'), ('scope_signals_write', 'signals:write'), ('scope_history_read', 'history:read'), ('scope_workflows_read', 'workflows:read'), ('scope_workflows_write', 'workflows:write'), ('scope_sessions', 'sessions'), ('scope_coordination', 'coordination'), ('scope_operations', 'operations')],
                'indexes': [models.Index(fields=['kind', 'subject'], name='access_key_subject')],
                'constraints': [models.CheckConstraint(condition=models.Q(('kind', 'service'), models.Q(('subject', ''), _negated=True), _connector='XOR'), name='access_key_subject_unless_service'), models.CheckConstraint(condition=models.Q(('kind', 'service'), ('scopes', []), _connector='OR'), name='access_key_scopes_only_of_service')],
            },
        ),
        migrations.CreateModel(
            name='IdempotencyRecord',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('owner', models.CharField(max_length=40)),
                ('key', models.CharField(max_length=64)),
                ('digest', models.BinaryField(max_length=32)),
                ('status', models.PositiveSmallIntegerField(null=True)),
                ('answer', models.BinaryField(null=True)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
            options={
                'indexes': [models.Index(fields=['created_at'], name='idempotency_age')],
                'constraints': [models.UniqueConstraint(fields=('owner', 'key'), name='idempotency_once_per_owner')],
            },
        ),
        migrations.CreateModel(
            name='SignInAttempt',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=150)),
                ('address', models.CharField(max_length=45)),
                ('failures', models.PositiveSmallIntegerField(default=0)),
                ('window_ends_at', models.DateTimeField()),
            ],
            options={
                'indexes': [models.Index(fields=['window_ends_at'], name='sign_in_window')],
                'constraints': [models.UniqueConstraint(fields=('name', 'address'), name='sign_in_once_per_name_and_address')],
            },
        ),
        migrations.CreateModel(
            name='ChangeRecord',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), verbose_name='time')),
                ('actor', models.CharField(max_length=160, verbose_name='who')),
                ('action', models.CharField(choices=[('created', 'created'), ('changed', 'changed'), ('deleted', 'deleted')], max_length=8, verbose_name='action')),
                ('kind', models.CharField(max_length=40, verbose_name='kind')),
                ('object_id', models.CharField(max_length=64, verbose_name='object')),
                ('before', models.JSONField(null=True, verbose_name='before')),
                ('after', models.JSONField(null=True, verbose_name='after')),
                ('correlation_id', models.CharField(blank=True, max_length=64, verbose_name='correlation id')),
                ('reverts', models.OneToOneField(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='reverted_by', to='records.changerecord', verbose_name='reverts')),
            ],
            options={
                'verbose_name': 'registry change',
                'verbose_name_plural': 'registry changes',
                'ordering': ['-id'],
                'indexes': [models.Index(fields=['kind', 'object_id', '-id'], name='change_of_object'), models.Index(condition=models.Q(('correlation_id', ''), _negated=True), fields=['correlation_id'], name='change_correlation')],
                'constraints': [models.CheckConstraint(condition=models.Q(models.Q(('action', 'created'), ('after__isnull', False), ('before__isnull', True)), models.Q(('action', 'changed'), ('after__isnull', False), ('before__isnull', False)), models.Q(('action', 'deleted'), ('after__isnull', True), ('before__isnull', False)), _connector='OR'), name='change_has_the_sides_of_its_action')],
            },
        ),
    ]
