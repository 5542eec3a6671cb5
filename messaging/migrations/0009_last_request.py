import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('messaging', '0008_search_by_part'),
    ]

    operations = [
        migrations.CreateModel(
            name='LastRequest',
            fields=[
                ('database', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='last_request', serialize=False, to='messaging.exchangedatabase', verbose_name='database')),
                ('asked_at', models.DateTimeField(verbose_name='last request')),
                ('lane', models.JSONField(default=list, verbose_name='lane')),
                ('answer', models.CharField(choices=[('OK', 'messages handed out'), ('IDLE', 'no messages waiting'), ('BUSY', 'busy with another process')], max_length=4, verbose_name='answer')),
            ],
            options={
                'verbose_name': 'last request',
                'verbose_name_plural': 'last requests',
            },
        ),
    ]
