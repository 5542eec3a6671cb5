-- Save or exhaust sessions whose claim still stands, in their order; return their ids. With a delay a session gets the
-- last place in the order of saving, with a time it keeps its place, with neither it is not due any more.
WITH given AS (
    SELECT * FROM unnest(%b::bigint[], %b::bigint[], %b::text[], %b::bigint[], %b::timestamptz[], %b::float8[])
        AS each (id, change, status, repeats, due_at, delay)
), held AS MATERIALIZED (
    SELECT given.*, session.save_number FROM given JOIN notifications_repeatsession AS session USING (id, change)
    ORDER BY session.id
    FOR UPDATE OF session
), placed AS MATERIALIZED (
    SELECT *, CASE WHEN delay IS NULL THEN save_number ELSE nextval('notifications_save_number') END AS place FROM held
)
UPDATE notifications_repeatsession AS session
SET
    status = placed.status,
    is_repeating = false,
    change = session.change + 1,
    repeats = placed.repeats,
    due_at = coalesce(placed.due_at, statement_timestamp() + placed.delay * interval '1 second'),
    save_number = placed.place
FROM placed WHERE session.id = placed.id
RETURNING session.id
