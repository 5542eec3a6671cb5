-- Claim what is due, in two steps: the endpoints that may be sent to, then their rows.
-- `due` hops through the index from endpoint to endpoint, so a million rows behind one cost one hop; it stops as soon as
-- enough endpoints are locked. An endpoint that another sender is claiming for is skipped, which keeps its slots exact.
WITH RECURSIVE due (endpoint_id, due_at) AS (
    (
        SELECT endpoint_id, due_at FROM notifications_delivery
        WHERE status = 'pending' AND is_retry = %(is_retry)s AND endpoint_id > %(after)s
        ORDER BY endpoint_id, due_at LIMIT 1
    )
    UNION ALL
    SELECT hop.endpoint_id, hop.due_at
    FROM due, LATERAL (
        SELECT endpoint_id, due_at FROM notifications_delivery
        WHERE status = 'pending' AND is_retry = %(is_retry)s AND endpoint_id > due.endpoint_id
        ORDER BY endpoint_id, due_at LIMIT 1
    ) AS hop
), ready AS MATERIALIZED (
    SELECT
        endpoint.*,
        endpoint.opened_at IS NOT NULL AS is_open,
        endpoint.opened_at IS NOT NULL AND endpoint.probe_at <= statement_timestamp() AS is_probe
    FROM due JOIN notifications_endpoint AS endpoint ON endpoint.id = due.endpoint_id
    WHERE due.due_at <= statement_timestamp()
        AND endpoint.active AND NOT endpoint.paused
        AND (endpoint.not_before IS NULL OR endpoint.not_before <= statement_timestamp())
        AND (
            endpoint.opened_at IS NULL OR endpoint.probe_at <= statement_timestamp()
            OR EXISTS (
                SELECT FROM notifications_delivery AS forced
                WHERE forced.endpoint_id = endpoint.id AND forced.status = 'pending' AND forced.is_forced
            )
        )
    LIMIT %(limit)s
    FOR NO KEY UPDATE OF endpoint SKIP LOCKED
), chosen AS MATERIALIZED (
    SELECT
        row.id, ready.id AS endpoint_id, ready.is_probe AND NOT row.is_forced AS is_probe, ready.url, ready.secret,
        CASE WHEN ready.old_secret_until > statement_timestamp() THEN ready.old_secret END AS old_secret,
        ready.failures > 0 OR ready.is_open AS was_failing
    FROM ready, LATERAL (
        SELECT delivery.id, delivery.is_forced
        FROM notifications_delivery AS delivery
        WHERE delivery.status = 'pending' AND delivery.is_retry = %(is_retry)s
            AND delivery.endpoint_id = ready.id
            AND delivery.due_at <= statement_timestamp()
            AND (NOT ready.is_open OR ready.is_probe OR delivery.is_forced)
            AND NOT EXISTS (
                SELECT FROM notifications_delivery AS older
                WHERE older.endpoint_id = delivery.endpoint_id AND older.subject = delivery.subject
                    AND older.family = delivery.family AND older.status = 'pending'
                    AND older.superseded_by_id IS NOT NULL AND older.id < delivery.id
            )
            AND NOT (delivery.family = 'connection' AND EXISTS (
                SELECT FROM notifications_listedsubject AS listed
                JOIN notifications_delivery AS list ON list.id = listed.delivery_id AND list.status = 'pending'
                WHERE listed.endpoint_id = delivery.endpoint_id AND listed.subject = delivery.subject
                    AND listed.is_open AND listed.delivery_id < delivery.id
            ))
        ORDER BY delivery.due_at, delivery.id
        LIMIT CASE WHEN ready.is_probe THEN 1 ELSE greatest(0, %(slots)s - (
            SELECT count(*) FROM notifications_delivery AS busy
            WHERE busy.endpoint_id = ready.id AND busy.under_way_until > statement_timestamp()
        )) END
        FOR NO KEY UPDATE SKIP LOCKED
    ) AS row
    LIMIT %(limit)s
), probing AS (
    UPDATE notifications_endpoint AS endpoint SET probe_at = statement_timestamp() + make_interval(secs => %(lease)s)
    FROM chosen WHERE chosen.is_probe AND endpoint.id = chosen.endpoint_id
)
UPDATE notifications_delivery AS delivery
SET
    attempts = delivery.attempts + CASE WHEN chosen.is_probe THEN 0 ELSE 1 END,
    attempts_made = delivery.attempts_made + 1,
    is_retry = true,
    is_forced = false,
    due_at = statement_timestamp() + make_interval(secs => %(lease)s),
    under_way_until = statement_timestamp() + make_interval(secs => %(lease)s),
    fence = delivery.fence + 1
FROM chosen
WHERE delivery.id = chosen.id
RETURNING
    delivery.id, delivery.fence, delivery.endpoint_id, delivery.type, delivery.family, delivery.subject,
    delivery.body::text, delivery.attempts, delivery.superseded_by_id, delivery.correlation_id, chosen.is_probe,
    chosen.url, chosen.secret, chosen.old_secret, chosen.was_failing, delivery.attempts_made,
    delivery.message_id
