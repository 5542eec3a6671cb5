import django.db.models.functions.datetime
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('records', '0001_initial'),
    ]

    operations = [
        migrations.CreateModel(
            name='LogEntry',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), verbose_name='time')),
                ('level', models.CharField(choices=[('info', 'info'), ('warning', 'warning'), ('error', 'error')], max_length=7, verbose_name='level')),
                ('kind', models.CharField(choices=[('exchange', 'exchange'), ('file', 'file'), ('refused', 'refused call'), ('alert', 'alert')], max_length=20, verbose_name='kind')),
                ('subject', models.CharField(blank=True, max_length=120, verbose_name='subject')),
                ('template', models.CharField(max_length=300)),
                ('data', models.JSONField(default=dict, verbose_name='details')),
                ('text', models.TextField(verbose_name='text')),
                ('count', models.PositiveIntegerField(default=1, verbose_name='times')),
                ('correlation_id', models.CharField(blank=True, max_length=64, verbose_name='correlation id')),
                ('fold', models.CharField(blank=True, editable=False, max_length=64)),
            ],
            options={
                'verbose_name': 'log entry',
                'verbose_name_plural': 'log',
                'ordering': ['-at', '-id'],
                'indexes': [models.Index(fields=['-at', '-id'], name='log_newest'), models.Index(fields=['subject', 'id'], name='log_subject'), models.Index(condition=models.Q(('correlation_id', ''), _negated=True), fields=['correlation_id'], name='log_correlation'), models.Index(condition=models.Q(('kind', 'exchange'), _negated=True), fields=['at'], name='log_age')],
                'constraints': [models.UniqueConstraint(condition=models.Q(('fold', ''), _negated=True), fields=('fold',), name='log_once_per_fold'), models.CheckConstraint(condition=models.Q(('level__in', ['info', 'warning', 'error'])), name='log_level_is_known')],
            },
        ),
    ]
