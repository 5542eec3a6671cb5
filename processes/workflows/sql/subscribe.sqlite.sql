INSERT INTO workflows_subscription (
    instance_id, local, element, definition, revision, kind, name, record, after_position
)
VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s)
