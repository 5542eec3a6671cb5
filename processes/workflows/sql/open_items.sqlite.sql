INSERT INTO workflows_work_item (
    instance_id, local, element, name, kind, topic, inputs, since, due_at, detail, assignee, deadline_at, follow_up_at,
    priority, notes, search, notice_at, opened_by, correlation_id, status, fence, worker, last_error, owner, noticed
)
VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, 'open', 0, '', '', '', '')
