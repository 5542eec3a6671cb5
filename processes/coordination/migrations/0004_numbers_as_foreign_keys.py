"""Types and statuses become foreign keys to the small tables, which `migrate` has filled before; the checks go."""

import django.db.models.deletion
import processes.coordination.protocol.statuses
from django.db import migrations, models
from django.db.models import Q


def number(table, **options):
    return models.ForeignKey(
        db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name="+", to=f"coordination.{table.lower()}", **options
    )


def become_foreign_key(model, name, field):
    """Rename first: the column of a foreign key has the name that the number had."""
    return [
        migrations.RenameField(model, f"{name}_id", name),
        migrations.AlterField(model, name, field),
    ]


CREATED = {"default": processes.coordination.protocol.statuses.EventStatus["CREATED"]}
CREATED_PAYLOAD = {"default": processes.coordination.protocol.statuses.PayloadStatus["CREATED"]}


class Migration(migrations.Migration):
    dependencies = [("coordination", "0003_rows_of_waiting_events")]

    operations = [
        # What names the columns would stand in the way of their new names.
        migrations.RemoveIndex("appevent", "app_event_unpublished"),
        migrations.RemoveIndex("appevent", "app_event_of_status"),
        migrations.RemoveIndex("writerevent", "writer_event_under_way"),
        migrations.RemoveIndex("writerevent", "writer_event_in_line"),
        migrations.RemoveIndex("writereventpayload", "writer_payload_unpublished"),
        migrations.RemoveConstraint("appevent", "app_event_status_is_known"),
        migrations.RemoveConstraint("appeventpayload", "app_event_payload_status_is_known"),
        migrations.RemoveConstraint("writerevent", "writer_event_status_is_known"),
        migrations.RemoveConstraint("writereventpayload", "writer_event_payload_status_is_known"),
        *become_foreign_key("appevent", "app_event_type", number("AppEventType")),
        *become_foreign_key("appevent", "app_event_status", number("AppEventStatus", **CREATED)),
        *become_foreign_key("writerevent", "app_event_type", number("AppEventType")),
        *become_foreign_key("writerevent", "app_event_status", number("AppEventStatus", **CREATED)),
        *become_foreign_key(
            "appeventpayload", "app_event_payload_status", number("AppEventPayloadStatus", **CREATED_PAYLOAD)
        ),
        *become_foreign_key(
            "writereventpayload", "app_event_payload_status", number("AppEventPayloadStatus", **CREATED_PAYLOAD)
        ),
        migrations.AddIndex(
            "appevent",
            models.Index(
                name="app_event_unpublished",
                fields=["position"],
                condition=Q(is_published=False) & Q(app_event_status_id__in=[1]),
            ),
        ),
        migrations.AddIndex(
            "appevent", models.Index(name="app_event_of_status", fields=["app_event_status_id", "-id"])
        ),
        migrations.AddIndex(
            "writerevent",
            models.Index(
                name="writer_event_under_way", fields=["position"], condition=~Q(app_event_status_id__in=[9, 11])
            ),
        ),
        migrations.AddIndex(
            "writerevent",
            models.Index(
                name="writer_event_in_line",
                fields=["position"],
                condition=~Q(app_event_status_id__in=[9, 11]) & Q(is_waiting=False, is_behind=False),
            ),
        ),
        migrations.AddIndex(
            "writereventpayload",
            models.Index(
                name="writer_payload_unpublished",
                fields=["id"],
                condition=Q(is_published=False, app_event_payload_status_id=1),
            ),
        ),
    ]
