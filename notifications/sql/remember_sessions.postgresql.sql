-- Save sessions of one theme for repetition, in their order, each with its records: nothing when there is no such theme
-- or one of them is too long for it.
WITH theme AS (
    SELECT number, delay FROM notifications_theme
    WHERE number = %(theme)s AND length_limit >= (SELECT max(length) FROM unnest(%(lengths)s::bigint[]) AS each (length))
), fresh AS MATERIALIZED (
    SELECT
        nextval(pg_get_serial_sequence('notifications_repeatsession', 'id')) AS id,
        nextval('notifications_save_number') AS save_number,
        theme.number, coalesce(%(delay)s::float8, theme.delay) AS delay, place, length, record_count
    FROM theme, unnest(%(lengths)s::bigint[], %(counts)s::bigint[]) WITH ORDINALITY AS each (length, record_count, place)
    ORDER BY place
), records AS (
    INSERT INTO notifications_sessionrecord (session_id, position, body)
    SELECT fresh.id, each.position, each.body
    FROM unnest(%(places)s::bigint[], %(positions)s::bigint[], %(bodies)s::text[]) AS each (place, position, body)
    JOIN fresh USING (place)
)
INSERT INTO notifications_repeatsession (
    id, theme_id, change, status, is_repeating, length, record_count, repeats, save_number, due_at, correlation_id
)
SELECT
    id, number, 1, 'saved', false, length, record_count, 0, save_number,
    statement_timestamp() + delay * interval '1 second', %(chain)s
FROM fresh
RETURNING id
