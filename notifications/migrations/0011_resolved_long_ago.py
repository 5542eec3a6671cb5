from django.db import migrations, models


class Migration(migrations.Migration):
    """Let the daily upkeep find what was resolved long ago."""

    dependencies = [
        ('notifications', '0010_delivery_message_id'),
    ]

    operations = [
        migrations.AddIndex(
            model_name='alert',
            index=models.Index(condition=models.Q(('status', 'resolved')), fields=['resolved_at'], name='alert_resolved'),
        ),
        migrations.AddIndex(
            model_name='incident',
            index=models.Index(condition=models.Q(('resolved_at__isnull', False)), fields=['resolved_at'], name='incident_resolved'),
        ),
    ]
