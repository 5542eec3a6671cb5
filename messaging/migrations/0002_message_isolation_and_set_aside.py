from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("messaging", "0001_parties_and_messages")]

    operations = [
        migrations.AddField(
            model_name="message",
            name="isolation",
            field=models.PositiveSmallIntegerField(db_default=0, default=0, verbose_name="isolation"),
        ),
        migrations.AddField(
            model_name="message",
            name="set_aside_at",
            field=models.DateTimeField(null=True, verbose_name="set aside"),
        ),
        migrations.AddIndex(
            model_name="message",
            index=models.Index(
                name="message_set_aside", fields=["-id"], condition=models.Q(set_aside_at__isnull=False)
            ),
        ),
        migrations.AddConstraint(
            model_name="message",
            constraint=models.CheckConstraint(
                condition=models.Q(set_aside_at__isnull=True) | models.Q(status="waiting", direction="request"),
                name="message_set_aside_waits",
            ),
        ),
    ]
