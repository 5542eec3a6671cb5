-- How far a follower has read, how far there is to read, and whether more is on its way: of one moment.
SELECT
    COALESCE((SELECT position FROM notifications_follower WHERE name = %s), 0),
    COALESCE((SELECT position FROM notifications_sequencer WHERE id = 1), 0),
    EXISTS (SELECT 1 FROM notifications_event WHERE position IS NULL)
