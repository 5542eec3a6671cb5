from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("sensors", "0015_events_of_connections")]

    operations = [
        migrations.AddIndex(
            model_name="client",
            index=models.Index(fields=["name", "id"], name="client_by_name"),
        ),
    ]
