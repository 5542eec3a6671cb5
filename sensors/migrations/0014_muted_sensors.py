from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("sensors", "0013_rejected_correlation")]

    operations = [
        migrations.AddIndex(
            model_name="sensor",
            index=models.Index(
                condition=models.Q(("muted_until__isnull", False)), fields=["muted_until"], name="sensor_muted"
            ),
        ),
    ]
