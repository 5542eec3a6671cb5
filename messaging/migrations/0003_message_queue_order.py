from django.db import migrations, models

OFFERED = models.Q(direction="request", status="waiting", moving_from="", set_aside_at__isnull=True)


class Migration(migrations.Migration):
    dependencies = [("messaging", "0002_message_isolation_and_set_aside")]

    operations = [
        migrations.RemoveIndex(model_name="message", name="message_queue_of_subsystem"),
        migrations.RemoveIndex(model_name="message", name="message_queue_of_sender"),
        migrations.AddIndex(
            model_name="message",
            index=models.Index(
                name="message_queue_of_subsystem",
                fields=["database", "subsystem", "is_postponed", "isolation", "created_at", "id"],
                condition=OFFERED,
            ),
        ),
        migrations.AddIndex(
            model_name="message",
            index=models.Index(
                name="message_queue_of_sender",
                fields=["database", "device", "is_postponed", "isolation", "created_at", "id"],
                condition=OFFERED,
            ),
        ),
    ]
