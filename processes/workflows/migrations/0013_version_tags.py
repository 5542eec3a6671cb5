from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("workflows", "0012_stopped_batches")]

    operations = [
        migrations.AddField(
            model_name="workflowrevision",
            name="version_tag",
            field=models.CharField(
                blank=True, default="", editable=False, max_length=200, verbose_name="version tag"
            ),
        ),
    ]
