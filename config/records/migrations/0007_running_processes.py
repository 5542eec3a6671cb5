import django.db.models.functions.datetime
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('records', '0006_user_settings'),
    ]

    operations = [
        migrations.CreateModel(
            name='RunningProcess',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('node', models.CharField(max_length=120)),
                ('name', models.CharField(max_length=40)),
                ('pid', models.PositiveIntegerField()),
                ('started_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('seen_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
        ),
        migrations.AddConstraint(
            model_name='runningprocess',
            constraint=models.UniqueConstraint(fields=('node', 'name'), name='running_process_once_per_node'),
        ),
    ]
