"""The small tables of the document stand in the readers' databases too; types and statuses are foreign keys to them."""

import django.db.models.deletion
import processes.coordination.protocol.statuses
from django.db import migrations, models
from django.db.models import Q

from processes.coordination.schema.entities import type_names
from processes.coordination.protocol.statuses import EventStatus, PayloadStatus


def number(table, **options):
    return models.ForeignKey(
        db_index=False,
        on_delete=django.db.models.deletion.PROTECT,
        related_name="+",
        to=f"coordination_reader.{table.lower()}",
        **options,
    )


def become_foreign_key(model, name, field):
    """Rename first: the column of a foreign key has the name that the number had."""
    return [
        migrations.RenameField(model, f"{name}_id", name),
        migrations.AlterField(model, name, field),
    ]


def fill(apps, schema_editor):
    """Fill what the rows that are there refer to; every `migrate` brings the names in line."""
    alias = schema_editor.connection.alias
    events = apps.get_model("coordination_reader", "AppEvent").objects.using(alias)
    # Others are of events that came by their cancellation alone, or of entities that this reader does not know.
    events.exclude(app_event_type_id__in=type_names()).update(app_event_type_id=None)
    for table, names in (
        ("AppEventType", type_names()),
        ("AppEventStatus", {status.value: status.title for status in EventStatus}),
        ("AppEventPayloadStatus", {status.value: status.title for status in PayloadStatus}),
    ):
        model = apps.get_model("coordination_reader", table)
        model.objects.using(alias).bulk_create(model(pk=pk, name=name) for pk, name in names.items())


def small_table(name, length):
    return migrations.CreateModel(
        name=name,
        fields=[
            ("id", models.IntegerField(primary_key=True, serialize=False)),
            ("name", models.CharField(max_length=length, unique=True)),
        ],
        options={"abstract": False},
    )


CREATED = {"default": processes.coordination.protocol.statuses.EventStatus["CREATED"]}
CREATED_PAYLOAD = {"default": processes.coordination.protocol.statuses.PayloadStatus["CREATED"]}


class Migration(migrations.Migration):
    dependencies = [("coordination_reader", "0001_tables")]

    operations = [
        small_table("AppEventType", 400),
        small_table("AppEventStatus", 50),
        small_table("AppEventPayloadStatus", 50),
        migrations.RemoveIndex("appevent", "reader_event_processing"),
        migrations.RemoveConstraint("appevent", "reader_event_status_is_known"),
        migrations.RemoveConstraint("appeventpayload", "reader_payload_status_is_known"),
        migrations.AlterField("appevent", "app_event_type_id", models.IntegerField(null=True)),
        migrations.RunPython(fill, migrations.RunPython.noop),
        *become_foreign_key("appevent", "app_event_type", number("AppEventType", null=True)),
        *become_foreign_key("appevent", "app_event_status", number("AppEventStatus", **CREATED)),
        *become_foreign_key(
            "appeventpayload", "app_event_payload_status", number("AppEventPayloadStatus", **CREATED_PAYLOAD)
        ),
        migrations.AddIndex(
            "appevent",
            models.Index(name="reader_event_processing", fields=["id"], condition=Q(app_event_status_id=12)),
        ),
    ]
