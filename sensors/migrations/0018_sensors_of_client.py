import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("sensors", "0017_search_by_id")]

    operations = [
        migrations.AddIndex(
            model_name="sensorclient",
            index=models.Index(fields=["client", "sensor"], name="link_of_client"),
        ),
        migrations.AlterField(
            model_name="sensorclient",
            name="client",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="links",
                to="sensors.client",
                verbose_name="client",
            ),
        ),
        migrations.RemoveIndex(model_name="sensorstate", name="state_lost"),
        migrations.AddIndex(
            model_name="sensorstate",
            index=models.Index(
                condition=models.Q(("lost_at__isnull", False)), fields=["lost_at", "sensor"], name="state_lost"
            ),
        ),
    ]
