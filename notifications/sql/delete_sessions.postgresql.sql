-- Delete sessions whose claim still stands, with all that belongs to them; return their ids.
WITH done AS (
    SELECT * FROM unnest(%b::bigint[], %b::bigint[]) AS each (id, change)
), held AS MATERIALIZED (
    SELECT session.id FROM notifications_repeatsession AS session JOIN done USING (id, change)
    ORDER BY session.id
    FOR UPDATE OF session
), records AS (
    DELETE FROM notifications_sessionrecord AS record USING held WHERE record.session_id = held.id
), steps AS (
    DELETE FROM notifications_sessionstep AS step USING held WHERE step.session_id = held.id
)
DELETE FROM notifications_repeatsession AS session USING held WHERE session.id = held.id RETURNING session.id
