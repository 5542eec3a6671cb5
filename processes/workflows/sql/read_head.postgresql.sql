-- An instance with its head: everything that a command needs, in one trip. Times as text: Django reads others slowly.
SELECT
    instance.id, instance.definition_id, instance.revision_id, instance.record, instance.status, instance.head,
    instance.epoch, instance.open_incidents, instance.started_at::text, instance.ended_at::text, version.at::text,
    version.status, version.skeleton,
    CASE WHEN version.bodies <> '' THEN (
        SELECT json_object_agg(body.digest, body.content)::text
        FROM workflows_body AS body
        WHERE body.digest = ANY(string_to_array(version.bodies, ' '))
    ) END,
    instance.shadow
FROM workflows_instance AS instance
-- By itself, so that both are looked up in the index: of a join the planner may read all versions of the instance.
CROSS JOIN LATERAL (
    SELECT at, status, skeleton, bodies FROM workflows_version
    WHERE instance_id = instance.id AND number = instance.head LIMIT 1
) AS version
WHERE instance.id = %(instance)s
