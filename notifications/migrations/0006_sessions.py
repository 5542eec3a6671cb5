import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models


# The order of saving: a sequence, and where there is none a counter under the write lock.
FORWARDS = {
    "postgresql": [
        "CREATE SEQUENCE notifications_save_number",
        "ALTER TABLE notifications_repeatsession SET (autovacuum_vacuum_scale_factor = 0.01)",
        "ALTER TABLE notifications_sessionrecord SET (autovacuum_vacuum_scale_factor = 0.01)",
        "ALTER TABLE notifications_sessionstep SET (autovacuum_vacuum_scale_factor = 0.01)",
    ],
    "sqlite": [
        "CREATE TABLE notifications_save_number (last integer NOT NULL)",
        "INSERT INTO notifications_save_number VALUES (0)",
    ],
}
BACKWARDS = {
    "postgresql": ["DROP SEQUENCE notifications_save_number"],
    "sqlite": ["DROP TABLE notifications_save_number"],
}


def make_order(apps, schema_editor):
    for statement in FORWARDS[schema_editor.connection.vendor]:
        schema_editor.execute(statement)


def drop_order(apps, schema_editor):
    for statement in BACKWARDS[schema_editor.connection.vendor]:
        schema_editor.execute(statement)


class Migration(migrations.Migration):

    dependencies = [
        ('notifications', '0005_dead_letters'),
    ]

    operations = [
        migrations.CreateModel(
            name='RepeatSession',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('change', models.BigIntegerField(default=1, verbose_name='change')),
                ('status', models.CharField(choices=[('active', 'active'), ('saved', 'saved'), ('exhausted', 'exhausted')], default='active', max_length=9, verbose_name='status')),
                ('is_repeating', models.BooleanField(default=False, verbose_name='being repeated')),
                ('length', models.PositiveIntegerField(verbose_name='length, bytes')),
                ('record_count', models.PositiveIntegerField(verbose_name='records')),
                ('repeats', models.PositiveIntegerField(default=0, verbose_name='failed repeats')),
                ('save_number', models.BigIntegerField(default=0, verbose_name='order of saving')),
                ('due_at', models.DateTimeField(null=True, verbose_name='due')),
                ('correlation_id', models.CharField(blank=True, max_length=64, verbose_name='correlation id')),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False, verbose_name='created')),
            ],
            options={
                'verbose_name': 'repeat session',
                'verbose_name_plural': 'repeat sessions',
                'ordering': ['-id'],
            },
        ),
        migrations.CreateModel(
            name='SessionRecord',
            fields=[
                ('pk', models.CompositePrimaryKey('session', 'position', blank=True, editable=False, primary_key=True, serialize=False)),
                ('position', models.PositiveIntegerField(verbose_name='position')),
                ('body', models.TextField(verbose_name='record')),
                ('session', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='records', to='notifications.repeatsession', verbose_name='session')),
            ],
            options={
                'verbose_name': 'record',
                'verbose_name_plural': 'records',
            },
        ),
        migrations.CreateModel(
            name='Theme',
            fields=[
                ('number', models.PositiveIntegerField(primary_key=True, serialize=False, verbose_name='theme')),
                ('timeout', models.FloatField(default=60, help_text='A session untouched for so long is saved; a handler silent for so long has failed.', verbose_name='timeout, seconds')),
                ('repeat_limit', models.PositiveIntegerField(default=10, help_text='After so many failed repeats a session is exhausted.', verbose_name='repeat limit')),
                ('length_limit', models.PositiveIntegerField(default=65536, help_text='Of the compact JSON of all records of a session.', verbose_name='length limit, bytes')),
                ('delay', models.FloatField(default=60, verbose_name='delay, seconds')),
                ('jitter', models.FloatField(default=0, help_text='Up to so much is added to the delay after a failed repeat.', verbose_name='jitter, seconds')),
                ('handler', models.CharField(blank=True, help_text='A name registered in the code.', max_length=80, verbose_name='handler')),
                ('url', models.CharField(blank=True, max_length=500, verbose_name='URL')),
                ('secret', models.BinaryField(null=True)),
            ],
            options={
                'verbose_name': 'theme',
                'verbose_name_plural': 'themes',
                'ordering': ['number'],
                'constraints': [models.CheckConstraint(condition=models.Q(models.Q(('handler', ''), models.Q(('url', ''), _negated=True)), models.Q(models.Q(('handler', ''), _negated=True), ('url', '')), _connector='OR'), name='theme_has_a_handler_or_a_url'), models.CheckConstraint(condition=models.Q(models.Q(('secret__isnull', True), ('url', '')), models.Q(models.Q(('url', ''), _negated=True), ('secret__isnull', False)), _connector='OR'), name='theme_url_has_a_secret'), models.CheckConstraint(condition=models.Q(('delay__gte', 0), ('jitter__gte', 0), ('length_limit__gte', 2), ('repeat_limit__gte', 1), ('timeout__gt', 0)), name='theme_numbers_make_sense')],
            },
        ),
        migrations.AddField(
            model_name='repeatsession',
            name='theme',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='sessions', to='notifications.theme', verbose_name='theme'),
        ),
        migrations.CreateModel(
            name='SessionStep',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False, verbose_name='time')),
                ('what', models.CharField(choices=[('appended', 'records appended'), ('rewritten', 'records rewritten'), ('saved', 'saved'), ('lapsed', 'saved: nobody touched it'), ('failed', 'repeat failed'), ('died', 'repeat failed: its worker died'), ('exhausted', 'repeat limit reached'), ('stopped', 'saved: the worker was stopped'), ('revived', 'revived'), ('moved', 'repeat time moved')], max_length=10, verbose_name='what')),
                ('detail', models.CharField(blank=True, max_length=300, verbose_name='details')),
                ('verdicts', models.JSONField(default=list, verbose_name='verdicts')),
                ('session', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='steps', to='notifications.repeatsession', verbose_name='session')),
            ],
            options={
                'verbose_name': 'step',
                'verbose_name_plural': 'steps',
                'ordering': ['id'],
                'indexes': [models.Index(fields=['session', 'id'], name='step_session')],
            },
        ),
        migrations.AddIndex(
            model_name='repeatsession',
            index=models.Index(condition=models.Q(('status', 'saved')), fields=['due_at', 'save_number'], name='session_to_repeat'),
        ),
        migrations.AddIndex(
            model_name='repeatsession',
            index=models.Index(condition=models.Q(('status', 'active')), fields=['due_at'], name='session_to_lapse'),
        ),
        migrations.AddIndex(
            model_name='repeatsession',
            index=models.Index(condition=models.Q(('status', 'exhausted')), fields=['theme', '-id'], name='session_exhausted'),
        ),
        migrations.AddIndex(
            model_name='repeatsession',
            index=models.Index(fields=['theme', '-id'], name='session_theme'),
        ),
        migrations.AddIndex(
            model_name='repeatsession',
            index=models.Index(condition=models.Q(('correlation_id', ''), _negated=True), fields=['correlation_id'], name='session_correlation'),
        ),
        migrations.AddConstraint(
            model_name='repeatsession',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('due_at__isnull', True), ('status', 'exhausted')), models.Q(models.Q(('status', 'exhausted'), _negated=True), ('due_at__isnull', False)), _connector='OR'), name='session_due_unless_exhausted'),
        ),
        migrations.AddConstraint(
            model_name='repeatsession',
            constraint=models.CheckConstraint(condition=models.Q(('is_repeating', False), ('status', 'active'), _connector='OR'), name='session_repeated_only_while_active'),
        ),
        migrations.AddConstraint(
            model_name='repeatsession',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('status', 'saved'), _negated=True), ('save_number__gt', 0), _connector='OR'), name='session_saved_in_an_order'),
        ),
        migrations.RunPython(make_order, drop_order),
    ]
