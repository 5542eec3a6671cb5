-- An instance with its head: everything that a command needs, in one trip. Times as text: Django reads others slowly.
SELECT
    instance.id, instance.definition_id, instance.revision_id, instance.record, instance.status, instance.head,
    instance.epoch, instance.open_incidents, instance.started_at::text, instance.ended_at::text, version.at::text,
    version.status, version.skeleton,
    CASE WHEN version.bodies <> '' THEN (
        SELECT json_object_agg(body.digest, body.content)::text
        FROM workflows_body AS body
        WHERE body.digest = ANY(string_to_array(version.bodies, ' '))
    ) END
FROM workflows_instance AS instance
JOIN workflows_version AS version ON version.instance_id = instance.id AND version.number = instance.head
WHERE instance.id = %(instance)s
