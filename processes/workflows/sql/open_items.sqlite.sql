INSERT INTO workflows_work_item (
    instance_id, local, element, name, kind, status, topic, inputs, since, opened_by, due_at, fence, worker, last_error,
    correlation_id
)
VALUES (%s, %s, %s, %s, %s, 'open', %s, %s, %s, %s, %s, 0, '', '', %s)
