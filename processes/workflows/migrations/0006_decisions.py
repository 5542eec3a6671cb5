from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("workflows", "0005_revision_is_executable"),
    ]

    operations = [
        migrations.AlterField(
            model_name="workflowdefinition",
            name="kind",
            field=models.CharField(
                choices=[("bpmn", "BPMN"), ("cmmn", "CMMN"), ("dmn", "DMN")], max_length=4, verbose_name="kind"
            ),
        ),
    ]
