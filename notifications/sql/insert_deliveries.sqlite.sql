INSERT INTO notifications_delivery (
    id, endpoint_id, type, family, subject, body, status, reason, superseded_by_id, is_final, due_at, correlation_id,
    message_id, attempts, is_retry, is_forced, fence
)
VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, 0, false, false, 0)
