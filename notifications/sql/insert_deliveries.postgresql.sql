-- A row whose key has meanwhile been queued again is left out, and written after that one has been superseded.
INSERT INTO notifications_delivery (
    id, endpoint_id, type, family, subject, body, status, reason, superseded_by_id, is_final, due_at, correlation_id,
    message_id, attempts, is_retry, is_forced, fence
)
SELECT
    id, endpoint_id, type, family, subject, body::jsonb, status, reason, superseded_by, is_final, due_at, correlation_id,
    message_id, 0, false, false, 0
FROM unnest(
    %b::bigint[], %b::bigint[], %b::text[], %b::text[], %b::text[], %b::text[], %b::text[], %b::text[], %b::bigint[],
    %b::boolean[], %b::timestamptz[], %b::text[], %b::uuid[]
) AS fresh (
    id, endpoint_id, type, family, subject, body, status, reason, superseded_by, is_final, due_at, correlation_id,
    message_id
)
ON CONFLICT DO NOTHING
