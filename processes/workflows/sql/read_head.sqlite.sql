SELECT
    instance.id, instance.definition_id, instance.revision_id, instance.record, instance.status, instance.head,
    instance.epoch, instance.open_incidents, instance.started_at, instance.ended_at, version.at, version.status,
    version.skeleton,
    CASE WHEN version.bodies <> '' THEN (
        SELECT json_group_object(body.digest, body.content)
        FROM workflows_body AS body
        WHERE body.digest IN (SELECT value FROM json_each('["' || replace(version.bodies, ' ', '","') || '"]'))
    ) END,
    instance.shadow
FROM workflows_instance AS instance
JOIN workflows_version AS version ON version.instance_id = instance.id AND version.number = instance.head
WHERE instance.id = %(instance)s
