-- The newest message of a key takes the place of the one that is pending. One that is being sent right now is only told
-- who follows it: whoever sends it decides by the answer. Locked in order of id, as everyone locks deliveries.
WITH fresh AS (
    SELECT * FROM unnest(%b::bigint[], %b::text[], %b::text[], %b::bigint[]) AS each (endpoint_id, subject, family, successor)
), old AS MATERIALIZED (
    SELECT delivery.id, fresh.successor, delivery.under_way_until > statement_timestamp() AS stays
    FROM notifications_delivery AS delivery
    JOIN fresh USING (endpoint_id, subject, family)
    WHERE delivery.status = 'pending' AND delivery.superseded_by_id IS NULL AND delivery.id < fresh.successor
    ORDER BY delivery.id
    FOR NO KEY UPDATE OF delivery
)
UPDATE notifications_delivery AS delivery
SET
    superseded_by_id = old.successor,
    reason = 'superseded by ' || old.successor,
    status = CASE WHEN old.stays THEN delivery.status ELSE 'superseded' END,
    due_at = CASE WHEN old.stays THEN delivery.due_at END,
    under_way_until = CASE WHEN old.stays THEN delivery.under_way_until END,
    fence = delivery.fence + CASE WHEN old.stays THEN 0 ELSE 1 END
FROM old
WHERE delivery.id = old.id
