from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("workflows", "0004_recall")]

    operations = [
        migrations.AddField(
            model_name="workflowrevision",
            name="is_executable",
            field=models.BooleanField(default=True, verbose_name="executable"),
        ),
    ]
