from django.db import migrations, models


class Migration(migrations.Migration):
    """What people read of attempts is counted apart from what is used up; who does not answer is found by an index."""

    dependencies = [
        ("notifications", "0007_theme_secret_rotation"),
    ]

    operations = [
        migrations.AddField(
            model_name="delivery",
            name="attempts_made",
            field=models.PositiveIntegerField(db_default=0, verbose_name="attempts"),
        ),
        migrations.RunSQL(
            "UPDATE notifications_delivery SET attempts_made = attempts WHERE attempts > 0",
            migrations.RunSQL.noop,
        ),
        migrations.AddIndex(
            model_name="endpoint",
            index=models.Index(
                condition=models.Q(("opened_at__isnull", False)), fields=["opened_at"], name="endpoint_open"
            ),
        ),
    ]
