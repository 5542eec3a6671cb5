from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("exchange", "0001_processes")]

    operations = [
        migrations.AddField(
            model_name="exchangeprocess",
            name="request_id",
            field=models.CharField(blank=True, default="", max_length=64, verbose_name="request id"),
        ),
        migrations.AddConstraint(
            model_name="exchangeprocess",
            constraint=models.UniqueConstraint(
                name="process_started_once_per_request",
                fields=["database", "request_id"],
                condition=models.Q(status="STARTED") & ~models.Q(request_id=""),
            ),
        ),
    ]
