-- Create and save sessions, each with its records, in their order; return place and id of those that their themes take.
WITH fresh AS MATERIALIZED (
    SELECT
        nextval(pg_get_serial_sequence('notifications_repeatsession', 'id')) AS id,
        nextval('notifications_save_number') AS save_number,
        place, number, coalesce(given.delay, theme.delay) AS delay, chain, length, bodies
    FROM json_array_elements(%b::json) WITH ORDINALITY AS element (value, place)
    CROSS JOIN json_to_record(value) AS given (
        theme bigint, delay float8, chain text, length bigint, longest bigint, bodies json
    )
    JOIN notifications_theme AS theme ON theme.number = given.theme AND theme.length_limit >= given.longest
    ORDER BY place
), records AS (
    INSERT INTO notifications_sessionrecord (session_id, position, body)
    SELECT id, position - 1, body
    FROM fresh CROSS JOIN json_array_elements_text(bodies) WITH ORDINALITY AS record (body, position)
), sessions AS (
    INSERT INTO notifications_repeatsession (
        id, theme_id, change, status, is_repeating, length, record_count, repeats, save_number, due_at, correlation_id
    )
    SELECT
        id, number, 1, 'saved', false, length, json_array_length(bodies), 0, save_number,
        statement_timestamp() + delay * interval '1 second', chain
    FROM fresh
)
SELECT place, id FROM fresh
