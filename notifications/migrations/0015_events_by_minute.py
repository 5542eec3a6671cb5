from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('notifications', '0014_left_open'),
    ]

    operations = [
        migrations.CreateModel(
            name='EventMinute',
            fields=[
                ('pk', models.CompositePrimaryKey('minute', 'type', 'outcome', blank=True, editable=False, primary_key=True, serialize=False)),
                ('minute', models.DateTimeField()),
                ('type', models.CharField(max_length=80)),
                ('outcome', models.CharField(max_length=12)),
                ('count', models.BigIntegerField(default=0)),
            ],
        ),
        migrations.AddIndex(
            model_name='endpoint',
            index=models.Index(condition=models.Q(('failures__gt', 0)), fields=['-failures'], name='endpoint_failing'),
        ),
    ]
