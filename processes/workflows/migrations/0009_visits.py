import django.db.models.deletion
from django.db import migrations, models
from django.db.models import F, Q


class Migration(migrations.Migration):

    dependencies = [
        ('workflows', '0008_people'),
    ]

    operations = [
        migrations.AddField(
            model_name='workflowrevision',
            name='counted_from',
            field=models.DateTimeField(editable=False, null=True),
        ),
        migrations.AddIndex(
            model_name='workflowversion',
            index=models.Index(condition=Q(parent__lt=F('number') - 1), fields=['instance', '-number'], name='version_return'),
        ),
        migrations.CreateModel(
            name='StepVisits',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('at', models.DateTimeField()),
                ('visits', models.TextField()),
            ],
            options={
                'db_table': 'workflows_step_visits',
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='VisitTotal',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('span', models.CharField(choices=[('hour', 'Hour'), ('day', 'Day'), ('ever', 'Ever')], max_length=4)),
                ('at', models.DateTimeField()),
                ('element', models.CharField(max_length=200)),
                ('band', models.SmallIntegerField()),
                ('count', models.BigIntegerField()),
                ('seconds', models.FloatField()),
                ('revision', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='workflows.workflowrevision')),
            ],
            options={
                'db_table': 'workflows_visit_total',
                'default_permissions': (),
                'indexes': [models.Index(fields=['span', 'at'], name='visit_total_at')],
                'constraints': [models.UniqueConstraint(fields=('revision', 'span', 'at', 'element', 'band'), name='visit_total_once')],
            },
        ),
    ]
