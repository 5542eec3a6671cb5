-- The newest message of a key takes the place of the one that is pending; see the statement for PostgreSQL.
WITH fresh (endpoint_id, subject, family, successor) AS (VALUES (%s, %s, %s, %s)),
old AS (
    SELECT
        delivery.id,
        fresh.successor,
        coalesce(delivery.under_way_until > strftime('%%Y-%%m-%%d %%H:%%M:%%f', 'now'), 0) AS stays
    FROM fresh
    JOIN notifications_delivery AS delivery USING (endpoint_id, subject, family)
    WHERE delivery.status = 'pending' AND delivery.superseded_by_id IS NULL AND delivery.id < fresh.successor
)
UPDATE notifications_delivery
SET
    superseded_by_id = old.successor,
    reason = 'superseded by ' || old.successor,
    status = CASE WHEN old.stays THEN status ELSE 'superseded' END,
    due_at = CASE WHEN old.stays THEN due_at END,
    under_way_until = CASE WHEN old.stays THEN under_way_until END,
    fence = fence + CASE WHEN old.stays THEN 0 ELSE 1 END
FROM old
WHERE notifications_delivery.id = old.id
