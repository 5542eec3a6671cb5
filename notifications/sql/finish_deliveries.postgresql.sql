-- Write what became of claimed rows whose claim still stands, in order of id. What a newer message has replaced while
-- it was under way is delivered or superseded, nothing else.
WITH done AS (
    SELECT * FROM unnest(%b::bigint[], %b::bigint[], %b::text[], %b::text[], %b::float8[])
        AS each (id, fence, status, reason, delay)
), held AS MATERIALIZED (
    SELECT
        delivery.id, done.delay, delivery.superseded_by_id,
        CASE
            WHEN done.status = 'delivered' OR delivery.superseded_by_id IS NULL THEN done.status ELSE 'superseded'
        END AS status,
        CASE WHEN delivery.superseded_by_id IS NULL THEN done.reason ELSE delivery.reason END AS reason
    FROM notifications_delivery AS delivery JOIN done USING (id, fence)
    WHERE delivery.status = 'pending'
    ORDER BY delivery.id
    FOR NO KEY UPDATE OF delivery
)
UPDATE notifications_delivery AS delivery
SET
    status = held.status,
    reason = CASE WHEN held.status = 'delivered' THEN '' ELSE held.reason END,
    superseded_by_id = CASE WHEN held.status = 'delivered' THEN NULL ELSE held.superseded_by_id END,
    due_at = CASE WHEN held.status = 'pending' THEN statement_timestamp() + held.delay * interval '1 second' END,
    under_way_until = NULL
FROM held
WHERE delivery.id = held.id
RETURNING delivery.id, delivery.status
