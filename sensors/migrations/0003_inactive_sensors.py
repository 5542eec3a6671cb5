from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('sensors', '0002_past_events'),
    ]

    operations = [
        migrations.AddIndex(
            model_name='sensor',
            index=models.Index(condition=models.Q(('active', False)), fields=['id'], name='sensor_inactive'),
        ),
    ]
