from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('sensors', '0009_open_doors'),
    ]

    operations = [
        migrations.CreateModel(
            name='LinkRecord',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('at', models.DateTimeField(verbose_name='time')),
                ('sensor_id', models.CharField(max_length=16, verbose_name='sensor')),
                ('client_id', models.BigIntegerField(verbose_name='client')),
                ('is_linked', models.BooleanField(verbose_name='linked')),
            ],
            options={
                'verbose_name': 'link record',
                'verbose_name_plural': 'link records',
                'indexes': [models.Index(fields=['client_id', 'at', 'sensor_id'], name='link_record_client'), models.Index(fields=['at'], name='link_record_at')],
            },
        ),
    ]
