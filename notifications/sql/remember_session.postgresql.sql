-- Create and save one session with its records: nothing when there is no such theme, or it is too long for it.
WITH fresh AS (
    INSERT INTO notifications_repeatsession (
        theme_id, change, status, is_repeating, length, record_count, repeats, save_number, due_at, correlation_id
    )
    SELECT
        number, 1, 'saved', false, %(length)s, %(count)s, 0, nextval('notifications_save_number'),
        statement_timestamp() + coalesce(%(delay)s::float8, delay) * interval '1 second', %(chain)s
    FROM notifications_theme
    WHERE number = %(theme)s AND length_limit >= %(length)s
    RETURNING id
), records AS (
    INSERT INTO notifications_sessionrecord (session_id, position, body)
    SELECT fresh.id, place - 1, body FROM fresh, unnest(%(bodies)s::text[]) WITH ORDINALITY AS each (body, place)
)
SELECT id FROM fresh
